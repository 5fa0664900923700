/** Must hold: random and mutated bodies through /rpc leave a real node alive, and every answer is valid JSON-RPC. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FUZZ_CODES, fuzzRpc } from '../fakes/rpc-fuzz.ts'
import { drawnSeed } from '../seeded-random.ts'
import { fundNode } from './funded.ts'
import { keepMining } from './mine.ts'
import { startRealNode, withoutNode } from './real-node.ts'
import { startRealService } from './real-service.ts'

const BODIES = process.env.TAPELINE_SOAK ? 100_000 : 20_000
const SEED = drawnSeed()

test(`${BODIES} random and mutated bodies (seed ${SEED})`, {
  skip: withoutNode,
  timeout: 1_800_000,
}, async (t) => {
  const node = await startRealNode({ name: 'fuzzed' })
  t.after(() => node.stop())
  const { miner, payee, coins } = await fundNode(node)
  const service = await startRealService([node])
  t.after(() => service.stop())
  await service.healthy(1)
  const mining = keepMining(node, miner.address, 2)
  t.after(() => mining.stop())
  const { sink } = await node.rpc.call('getSink')
  const transaction = miner.pay(coins.slice(0, 1), [payee.address, miner.address]).json
  const { pid } = node
  const codes = await fuzzRpc({
    ...{ url: service.service.url, key: service.key, bodies: BODIES, connections: 12, seed: SEED },
    material: { address: miner.address, transaction, hash: String(sink) },
  })
  t.diagnostic(`answers: ${[...codes].map(([code, count]) => `${count} × ${code}`).join(', ')}`)
  for (const code of [...FUZZ_CODES, 'result'])
    assert.ok((codes.get(code) ?? 0) > 0, `nothing was answered with ${code}`)
  assert.equal(node.pid, pid)
  await node.rpc.call('ping')
  await service.healthy(1)
})
