/**
 * A node that prunes early: its network's parameters are changed so that it prunes within a minute. What was indexed
 * stays, and what was pruned before the index saw it is a gap.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { until } from '../until.ts'
import { fundNode } from './funded.ts'
import { mineBlocks } from './mine.ts'
import { type RealNode, startRealNode, withoutNode } from './real-node.ts'
import { type RealService, startRealService } from './real-service.ts'

/** The network's parameters, except for the pruning depth and the width of the DAG. */
const BLOCKRATE = {
  target_time_per_block: 100,
  ghostdag_k: 18,
  past_median_time_sample_rate: 100,
  difficulty_sample_rate: 20,
  max_block_parents: 64,
  mergeset_size_limit: 180,
  merge_depth: 60,
  finality_depth: 100,
  pruning_depth: 350,
  coinbase_maturity: 1_000,
}
/** More than the node keeps, including whole finality periods. */
const FORGOTTEN_AFTER = BLOCKRATE.pruning_depth + 3 * BLOCKRATE.finality_depth

test('what a node has pruned stays indexed, and what was pruned unseen is a gap', {
  skip: withoutNode,
}, async (t) => {
  const node = await startRealNode({ name: 'pruned', paramsFile: paramsFile(t) })
  t.after(() => node.stop())
  const { miner, payee, coins, waiting } = await fundNode(node)
  const payment = () => {
    const [coin] = coins.splice(0, 1)
    assert.ok(coin)
    return miner.pay([coin], [payee.address, miner.address])
  }
  let service = await startRealService([node])
  t.after(() => service.stop())
  await service.healthy(1)
  await service.indexed(node)

  const seen = payment()
  await node.rpc.call('submitTransaction', { transaction: seen.json, allowOrphan: false })
  await mineBlocks(node, miner.address, 30)
  await service.indexed(node)
  const before = await lookUp(service, seen.id)
  assert.equal(before.status, 'confirmed')
  await forget(node, miner.address, String(before.block_hash))
  await service.indexed(node)
  assert.deepEqual(await lookUp(service, seen.id), before)
  assert.deepEqual((await statusOf(service)).gaps, [])

  await service.service.stop({ keepFiles: true })
  const unseen = payment()
  await node.rpc.call('submitTransaction', { transaction: unseen.json, allowOrphan: false })
  await mineBlocks(node, miner.address, 1)
  await forget(node, miner.address, String((await node.rpc.call('getSink')).sink))
  const later = payment()
  await node.rpc.call('submitTransaction', { transaction: later.json, allowOrphan: false })
  await mineBlocks(node, miner.address, 30)
  service = await startRealService([node], {}, service.service.folder)
  await service.healthy(1)
  await service.indexed(node)
  // Blocks that were followed and not yet published when the service stopped may be missing, too.
  const ofChain = (await statusOf(service)).gaps.filter(({ reason }) => reason !== 'blocks_pruned')
  assert.deepEqual(
    ofChain.map(({ reason }) => reason),
    ['pruned'],
  )
  const { items, coverage } = (await service.get(`/v1/addresses/${payee.address}/transactions`)).json as {
    items: { tx_id: string; status: string }[]
    coverage: { complete: boolean; gaps: unknown[] }
  }
  assert.ok(items.every(({ status }) => status === 'confirmed'))
  const known = [later, seen, ...waiting].map(({ id }) => id)
  assert.deepEqual(
    new Set(items.map(({ tx_id }) => tx_id)),
    new Set(known),
    'all but the one that was unseen',
  )
  assert.equal(coverage.complete, false)
  assert.equal(coverage.gaps.length, 1)
  assert.deepEqual(await lookUp(service, seen.id), before)
})

function paramsFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-params-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'params.json')
  writeFileSync(file, JSON.stringify({ blockrate: BLOCKRATE }))
  return file
}

/** Makes blocks until the node no longer has the transactions of that one. */
async function forget(node: RealNode, address: string, hash: string): Promise<void> {
  await mineBlocks(node, address, FORGOTTEN_AFTER)
  const isGone = async () => {
    const { error, params } = await node.rpc.ask('getBlock', { hash, includeTransactions: true })
    // Headers stay longer than transactions.
    return (
      error !== undefined ||
      (params as { block: { transactions: unknown[] } }).block.transactions.length === 0
    )
  }
  await until(`${hash} is pruned`, isGone, 60_000)
}

async function lookUp(service: RealService, txId: string): Promise<Record<string, unknown>> {
  const answer = await service.get(`/v1/transactions/${txId}`)
  assert.equal(answer.status, 200, answer.text)
  const { confirmations: _, credits_used: __, ...rest } = answer.json
  return rest
}

async function statusOf(service: RealService): Promise<{ gaps: { reason: string }[] }> {
  const { index } = (await service.get('/v1/status')).json as { index: { gaps: { reason: string }[] } }
  return index
}
