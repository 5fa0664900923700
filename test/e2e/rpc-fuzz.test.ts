/**
 * Seeded random and mutated bodies for POST /rpc: no crash, no hang, every answer is valid JSON-RPC, exactly the
 * successful calls are charged, and no node gets a frame that it could not read.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ChainService, startChainService } from '../fakes/chain-service.ts'
import { plainClient } from '../fakes/plain-node-client.ts'
import { ADDRESS, type Coin, funds, payment } from '../fakes/real-client.ts'
import { FUZZ_CODES, fuzzRpc } from '../fakes/rpc-fuzz.ts'
import { WIDE_PLAN } from '../fakes/service.ts'
import { type FakeNode, startFakeNode } from '../fakes/wrpc-node.ts'
import { drawnSeed } from '../seeded-random.ts'

const BODIES = process.env.TAPELINE_SOAK ? 100_000 : 250
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
  // The strict node follows the simulated one, so that both get calls until the end.
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

test(`${BODIES} random and mutated bodies (seed ${SEED})`, async (t) => {
  const direct = await plainClient(chain.nodes[0]?.url ?? '')
  const { sink } = await direct.call('getSink')
  const { entries } = await direct.call('getUtxosByAddresses', { addresses: [ADDRESS] })
  direct.close()
  const [coin] = entries as Coin[]
  assert.ok(coin)
  const material = { address: ADDRESS, transaction: payment(coin).json, hash: String(sink) }
  const codes = await fuzzRpc({
    ...{ url: chain.service.url, key, bodies: BODIES, connections: CONNECTIONS, seed: SEED, material },
  })
  t.diagnostic(`answers: ${[...codes].map(([code, count]) => `${count} × ${code}`).join(', ')}`)
  // Only one of the two nodes refuses anything, and timing decides which of them gets a call.
  const expected = BODIES > 1_000 ? FUZZ_CODES : FUZZ_CODES.filter((code) => code !== -32_000)
  for (const code of [...expected, 'result'])
    assert.ok((codes.get(code) ?? 0) > 0, `nothing was answered with ${code}`)
  assert.deepEqual(strict.violations, [])
  assert.equal(chain.nodes[0]?.log.counts()['(malformed)'], undefined)
  assert.equal((await chain.call(key, 'ping')).answer.status, 200, 'the service is alive')
  await chain.healthy(2)
})
