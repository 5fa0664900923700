/** Every method through /rpc answers what the real node itself answers, with exact 64-bit integers. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { RPC_METHODS } from '../../src/upstreams/methods.ts'
import { goodParams } from '../fakes/all-methods.ts'
import { type Funds, fundNode } from './funded.ts'
import { NETWORK, type RealNode, startRealNode, withoutNode } from './real-node.ts'
import { type RealService, startRealService } from './real-service.ts'
import { shapeDifferences, shapeOf } from './shape.ts'
import { wholeParams } from './whole-params.ts'

/** These depend on the moment or the connection: only members and kinds of values must be the same. */
const MOVING = ['getMetrics', 'getConnections', 'getBlockTemplate', 'getConnectedPeerInfo']
/** Lists without an order. */
const UNORDERED = ['getUtxosByAddresses', 'getMempoolEntries', 'getMempoolEntriesByAddresses']

let node: RealNode
let funds: Funds
let service: RealService
before(async () => {
  if (withoutNode) return
  node = await startRealNode({ name: 'asked' })
  funds = await fundNode(node)
  service = await startRealService([node])
  await service.healthy(1)
})
after(async () => {
  await service?.stop()
  await node?.stop()
})

const direct = async (method: string, params: unknown) => {
  const { params: result, error } = await node.rpc.ask(method, wholeParams(method, params, NETWORK))
  return { result, error }
}

test('the same answer as the node’s own, for all 39 methods', { skip: withoutNode }, async () => {
  const good = await goodParams(async (method, params = {}) => {
    const { result, error } = await direct(method, params)
    assert.ok(result, `${method}: ${error?.message}`)
    return result
  })
  // The oldest block is the genesis here, which paid nobody.
  const { result: info } = await direct('getBlocks', {
    lowHash: (good.getBlocks as { lowHash: string }).lowHash,
  })
  good.getBlockRewardInfo = { hash: (info as { blockHashes: string[] }).blockHashes[50] }
  const refused: string[] = []
  for (const { name, write } of RPC_METHODS.values()) {
    if (write) continue
    const params = good[name] ?? {}
    const [own, served] = [await direct(name, params), await service.rpc(name, params)]
    if (own.error !== undefined) {
      refused.push(`${name}: ${own.error.message}`)
      assert.equal(served.error?.message, own.error.message, name)
      assert.notEqual(served.error?.data?.reason, 'unknown', own.error.message)
    } else if (MOVING.includes(name))
      assert.deepEqual(shapeDifferences(name, shapeOf([own.result]), shapeOf([served.result])), [])
    else if (UNORDERED.includes(name)) assert.deepEqual(sorted(served.result), sorted(own.result), name)
    else assert.deepEqual(served.result, own.result, name)
  }
  assert.deepEqual(refused, ['getSubnetwork: Not implemented', 'getHeaders: Not implemented'])
})

test('blocks, transactions and replacements that go through /rpc arrive', { skip: withoutNode }, async () => {
  const { miner, payee, coins } = funds
  const [first, second] = coins.splice(0, 2)
  assert.ok(first && second)
  const payment = miner.pay([first], [payee.address, miner.address])
  const sent = await service.rpc('submitTransaction', { transaction: payment.json })
  assert.deepEqual(sent.result, { transactionId: payment.id }, String(sent.error?.message))
  const better = miner.pay([first], [payee.address, miner.address], 900_000n)
  const replaced = await service.rpc('submitTransactionReplacement', { transaction: better.json })
  assert.equal(replaced.result?.transactionId, better.id, String(replaced.error?.message))
  const old = replaced.result?.replacedTransaction as { outputs: unknown[] }
  assert.equal(old.outputs.length, 2)
  const { result: template } = await service.rpc('getBlockTemplate', { payAddress: miner.address })
  assert.ok(template)
  const { result: submitted } = await service.rpc('submitBlock', { block: template.block })
  assert.deepEqual(submitted?.report, { type: 'success' })
})

/** Lists sorted by their text, because the node returns them in no order. */
function sorted(value: unknown): unknown {
  const text = (each: unknown) =>
    JSON.stringify(each, (_name, found: unknown) => (typeof found === 'bigint' ? String(found) : found))
  if (Array.isArray(value)) return value.map(sorted).sort((a, b) => (text(a) < text(b) ? -1 : 1))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, sorted(member)]))
}
