/** Seeded random and mutated bodies for POST /rpc, and what must hold of every answer. */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { parseExact } from '../../src/kit/exact-json.ts'
import { BLOCKED_METHODS, RPC_METHODS } from '../../src/upstreams/methods.ts'
import { exactText, type RpcReply } from './chain-service.ts'

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Valid values of the network: mutations of them come close to what a node accepts. */
interface FuzzMaterial {
  readonly address: string
  readonly transaction: unknown
  readonly hash: string
}

function rpcBodies(random: () => number, { address, transaction, hash: sink }: FuzzMaterial) {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const otherNetwork = 'kaspa:qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjsgzthw5j'
  const odd: unknown[] = [
    ...[null, true, 0, -1, 1.5, 1e308, 18446744073709551615n, 18446744073709551616n, '', 'ü\u0000"\\'],
    ...['18446744073709551615', '0x10', sink, sink.slice(2), 'ab'.repeat(32), address, otherNetwork],
    ...[`${address}q`, address.toUpperCase(), [], {}, [[[]]], { version: 'x', script: 5 }, 'x'.repeat(2_000)],
    ...[{ version: 0, script: '20ac' }, [sink], [address], [null], { constructor: 1 }],
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
      if (name === 'transaction' && chance < 0.7) given[name] = mutate(transaction)
      else if (/hash|txid|transactionId|laneKey/i.test(name) && chance < 0.6)
        given[name] = pick([sink, 'cd'.repeat(32)])
      else if (/addresses/.test(name) && chance < 0.6)
        given[name] = [address, ...(random() < 0.3 ? [pick(odd)] : [])]
      else if (/address/i.test(name) && chance < 0.6) given[name] = address
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

interface FuzzAnswer {
  status: number
  charged: number
  text: string
}

function sendBody(url: string, key: string, body: Buffer, agent: Agent): Promise<FuzzAnswer> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
    const sent = request(`${url}/rpc`, { method: 'POST', agent, headers, timeout: 20_000 }, (response) => {
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
    })
    sent.on('timeout', () => sent.destroy(new Error('no answer')))
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Both nodes are healthy, so -32020 (no node could answer) must never occur. */
export const FUZZ_CODES = [-32700, -32600, -32601, -32602, -32010, -32000]

/** What the body requests, as far as it can be read; undefined if it is not a list. */
function askedOf(body: Buffer): unknown[] {
  const read = parseExact(body.toString('utf8'))
  if (!read.ok) return [undefined]
  return Array.isArray(read.value) && read.value.length > 0 && read.value.length <= 50
    ? read.value
    : [read.value]
}

function checkAnswer(body: Buffer, got: FuzzAnswer): void {
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
      assert.ok(FUZZ_CODES.includes(reply.error.code), `${JSON.stringify(reply.error)} for ${about}`)
      assert.equal(typeof reply.error.message, 'string')
    }
  }
  assert.equal(got.charged, price, about)
}

interface FuzzRun {
  readonly url: string
  readonly key: string
  readonly bodies: number
  readonly connections: number
  readonly seed: number
  readonly material: FuzzMaterial
}

/** Sends all of them and checks every answer; returns how often each code occurred. */
export async function fuzzRpc({ url, key, bodies, connections, seed, material }: FuzzRun) {
  const next = rpcBodies(randomFrom(seed), material)
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  let left = bodies
  const codes = new Map<number | string, number>()
  const drive = async () => {
    while (left-- > 0) {
      const body = next()
      const got = await sendBody(url, key, body, agent)
      checkAnswer(body, got)
      for (const one of [JSON.parse(got.text)].flat() as RpcReply[]) {
        const name = one.error?.code ?? 'result'
        codes.set(name, (codes.get(name) ?? 0) + 1)
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, drive))
  agent.destroy()
  return codes
}
