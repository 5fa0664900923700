/**
 * Seeded random and mutated bodies for POST /rpc: no crash, no hang, every answer is valid JSON-RPC, exactly the
 * successful calls are charged, and no node gets a frame that it could not read.
 */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { after, before, test } from 'node:test'
import { parseExact } from '../../src/kit/exact-json.ts'
import { BLOCKED_METHODS, RPC_METHODS } from '../../src/upstreams/methods.ts'
import { type ChainService, exactText, type RpcReply, startChainService } from '../fakes/chain-service.ts'
import { plainClient } from '../fakes/plain-node-client.ts'
import { ADDRESS, type Coin, funds, payment } from '../fakes/real-client.ts'
import { WIDE_PLAN } from '../fakes/service.ts'
import { type FakeNode, startFakeNode } from '../fakes/wrpc-node.ts'
import { drawnSeed } from '../seeded-random.ts'

const BODIES = process.env.TAPELINE_SOAK ? 100_000 : 700
const CONNECTIONS = 12
const SEED = drawnSeed()

let chain: ChainService
let strict: FakeNode
let key: string
let following: NodeJS.Timeout
before(async () => {
  strict = await startFakeNode({ networkId: 'testnet-10', daaScore: 500_000_300 })
  let urls = ''
  chain = await startChainService({
    nodes: 1,
    chain: { transactionsPerSecond: 2, fund: funds(1) },
    plans: [{ ...WIDE_PLAN, heavyCallsInFlight: 10_000, creditsPerMonth: 9_000_000_000 }],
    prepare: (nodes) => {
      urls = [...nodes.map(({ url }) => url), strict.url].join(',')
    },
    get env() {
      return { TAPELINE_NODES: urls }
    },
  })
  // The strict node stays in step with the simulated one, so that both get calls until the end.
  following = setInterval(() => {
    strict.state.daaScore = Number(chain.nodes[0]?.status().virtualDaaScore)
  }, 200)
  key = await chain.key()
  await chain.healthy(2)
})
after(async () => {
  clearInterval(following)
  await chain.stop()
  await strict.close()
})

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function generator(random: () => number, coin: Coin, sink: string) {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const { json } = payment(coin)
  const otherNetwork = 'kaspa:qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjsgzthw5j'
  const odd: unknown[] = [
    ...[null, true, 0, -1, 1.5, 1e308, 18446744073709551615n, 18446744073709551616n, '', 'ü\u0000"\\'],
    ...['18446744073709551615', '0x10', sink, sink.slice(2), 'ab'.repeat(32), ADDRESS, otherNetwork],
    ...[`${ADDRESS}q`, ADDRESS.toUpperCase(), [], {}, [[[]]], { version: 'x', script: 5 }, 'x'.repeat(2_000)],
    ...[{ version: 0, script: '20ac' }, [sink], [ADDRESS], [null], { constructor: 1 }],
  ]
  const names = [
    ...RPC_METHODS.keys(),
    ...BLOCKED_METHODS,
    'notifyBlockAdded',
    'nonsense',
    '__proto__',
    'toString',
  ]
  const params = (method: string): unknown => {
    const schema = RPC_METHODS.get(method)?.params as { properties?: Record<string, object> } | undefined
    const known = Object.keys(schema?.properties ?? {})
    const given: Record<string, unknown> = {}
    for (const name of known) {
      const chance = random()
      if (name === 'transaction' && chance < 0.7) given[name] = mutate(json)
      else if (/hash|txid|transactionId|laneKey/i.test(name) && chance < 0.6)
        given[name] = pick([sink, 'cd'.repeat(32)])
      else if (/addresses/.test(name) && chance < 0.6)
        given[name] = [ADDRESS, ...(random() < 0.3 ? [pick(odd)] : [])]
      else if (/address/i.test(name) && chance < 0.6) given[name] = ADDRESS
      else if (/^(include|filter|allow|is|verbose)/.test(name) && chance < 0.6) given[name] = random() < 0.5
      else if (chance < 0.85) given[name] = pick(odd)
    }
    if (random() < 0.1) given[pick(['extra', 'id', '__proto__', 'params'])] = pick(odd)
    return random() < 0.08 ? pick(odd) : given
  }
  /** One value somewhere inside replaced or removed. */
  const mutate = (value: unknown): unknown => {
    if (random() < 0.15) return pick(odd)
    if (Array.isArray(value)) {
      const at = Math.floor(random() * value.length)
      return value.map((item, index) => (index === at ? mutate(item) : item))
    }
    if (typeof value !== 'object' || value === null) return random() < 0.5 ? value : pick(odd)
    const entries = Object.entries(value)
    const at = Math.floor(random() * entries.length)
    return Object.fromEntries(
      entries.flatMap(([name, item], index) => {
        if (index !== at) return [[name, item]]
        return random() < 0.2 ? [] : [[name, mutate(item)]]
      }),
    )
  }
  const call = (): unknown => {
    const method = random() < 0.05 ? pick(odd) : pick(names)
    const made: Record<string, unknown> = {
      jsonrpc: random() < 0.95 ? '2.0' : pick(odd),
      id: random() < 0.8 ? Math.floor(random() * 1e6) : pick(odd),
      method,
      params: params(typeof method === 'string' ? method : ''),
    }
    if (random() < 0.08) delete made[pick(['jsonrpc', 'id', 'method', 'params'])]
    return random() < 0.03 ? pick(odd) : made
  }
  const damage = (text: string): Buffer => {
    const bytes = Buffer.from(text)
    for (let hits = 1 + Math.floor(random() * 4); hits > 0 && bytes.length > 0; hits--) {
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
    }
    return random() < 0.3 ? bytes.subarray(0, Math.floor(random() * bytes.length)) : bytes
  }
  return (): Buffer => {
    const chance = random()
    if (chance < 0.04)
      return Buffer.from(Array.from({ length: Math.floor(random() * 200) }, () => random() * 256))
    if (chance < 0.05) return Buffer.from('['.repeat(1 + Math.floor(random() * 20_000)))
    const count = Math.floor(random() * (random() < 0.05 ? 60 : 6))
    const body = chance < 0.3 ? Array.from({ length: count }, call) : call()
    const text = exactText(body) ?? ''
    return chance > 0.85 ? damage(text) : Buffer.from(text)
  }
}

interface Got {
  status: number
  charged: number
  text: string
}

function send(body: Buffer, agent: Agent): Promise<Got> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
    const sent = request(
      `${chain.service.url}/rpc`,
      { method: 'POST', agent, headers, timeout: 20_000 },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            charged: Number(response.headers['x-credits-charged']),
            text: Buffer.concat(chunks).toString('utf8'),
          }),
        )
      },
    )
    sent.on('timeout', () => sent.destroy(new Error('no answer')))
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Both nodes are well: that no node could answer (-32020) must not happen once. */
const CODES = [-32700, -32600, -32601, -32602, -32010, -32000]

/** What the body asks for, as far as it can be read at all; undefined for what is no list. */
function askedOf(body: Buffer): unknown[] {
  const read = parseExact(body.toString('utf8'))
  if (!read.ok) return [undefined]
  return Array.isArray(read.value) && read.value.length > 0 && read.value.length <= 50
    ? read.value
    : [read.value]
}

function check(body: Buffer, got: Got): void {
  const about = `${body.toString('utf8').slice(0, 2_000)} → ${got.status} ${got.text.slice(0, 500)}`
  assert.equal(got.status, 200, about)
  const asked = askedOf(body)
  const parsed = JSON.parse(got.text) as RpcReply | RpcReply[]
  const replies = Array.isArray(parsed) ? parsed : [parsed]
  assert.equal(replies.length, asked.length, about)
  let price = 0
  for (const [index, reply] of replies.entries()) {
    assert.equal(reply.jsonrpc, '2.0', about)
    assert.ok('id' in reply, about)
    assert.ok('result' in reply !== 'error' in reply, about)
    if (reply.error === undefined) {
      const { method } = asked[index] as { method: string }
      price += RPC_METHODS.get(method)?.price ?? Number.NaN
    } else {
      assert.ok(CODES.includes(reply.error.code), `${JSON.stringify(reply.error)} for ${about}`)
      assert.equal(typeof reply.error.message, 'string')
    }
  }
  assert.equal(got.charged, price, about)
}

test(`${BODIES} random and mutated bodies (seed ${SEED})`, async (t) => {
  const direct = await plainClient(chain.nodes[0]?.url ?? '')
  const { sink } = await direct.call('getSink')
  const { entries } = await direct.call('getUtxosByAddresses', { addresses: [ADDRESS] })
  direct.close()
  const [coin] = entries as Coin[]
  assert.ok(coin)
  const next = generator(randomFrom(SEED), coin, String(sink))
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  let left = BODIES
  const codes = new Map<number | string, number>()
  const drive = async () => {
    while (left-- > 0) {
      const body = next()
      const got = await send(body, agent)
      check(body, got)
      for (const one of [JSON.parse(got.text)].flat() as RpcReply[]) {
        const name = one.error?.code ?? 'result'
        codes.set(name, (codes.get(name) ?? 0) + 1)
      }
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, drive))
  agent.destroy()
  t.diagnostic(`answers: ${[...codes].map(([code, count]) => `${count} × ${code}`).join(', ')}`)
  for (const code of [...CODES, 'result'])
    assert.ok((codes.get(code) ?? 0) > 0, `nothing was answered with ${code}`)
  assert.deepEqual(strict.violations, [])
  assert.equal(chain.nodes[0]?.log.counts()['(malformed)'], undefined)
  assert.equal((await chain.call(key, 'ping')).answer.status, 200, 'the service is alive')
  await chain.healthy(2)
})
