import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MEMPOOL_PACE, pauseMs } from './follow-mempool.ts'
import { PendingTransactions } from './pending-transactions.ts'

const point = (name: string) => ({ transactionId: name, index: 0 })
const spends =
  (...names: string[]) =>
  () =>
    names.map(point)

function pendingOf(txIds: readonly string[] = []) {
  return new PendingTransactions({ txIds, atMs: 0, dropAfterMs: 60_000 })
}

test('a replaced transaction is due at the poll that shows its replacement, which it names', () => {
  const pending = pendingOf()
  pending.inMempool('old', { mempool: 'a', atMs: 0 }, spends('x', 'y'))
  pending.inMempool('other', { mempool: 'a', atMs: 0 }, spends('z'))
  pending.inMempool('new', { mempool: 'a', atMs: 200 }, spends('y'))
  pending.inMempool('other', { mempool: 'a', atMs: 200 }, spends('z'))
  assert.deepEqual(pending.due('a', 200), [{ txId: 'old', replacedBy: 'new' }])
})

test('an orphan replaces nothing: what it spends may be spent by a block that is on its way', () => {
  const pending = pendingOf()
  pending.inMempool('tx', { mempool: 'a', atMs: 0 }, spends('x'))
  pending.inMempool('orphan', { mempool: 'a', atMs: 200, isOrphan: true }, spends('x'))
  assert.deepEqual(pending.due('a', 200), [])
  pending.blocksRecorded(3_000)
  pending.inMempool('orphan', { mempool: 'a', atMs: 3_200, isOrphan: true }, spends('x'))
  assert.deepEqual(pending.due('a', 3_200), [{ txId: 'tx', replacedBy: null }])
  pending.inMempool('orphan', { mempool: 'a', atMs: 3_400 }, spends('x'))
  assert.deepEqual(pending.due('a', 3_400), [{ txId: 'tx', replacedBy: 'orphan' }])
})

test('an evicted transaction is due within five seconds, while blocks arrive that do not carry it', () => {
  const pending = pendingOf()
  pending.inMempool('tx', { mempool: 'a', atMs: 0 }, spends('x'))
  for (let atMs = 200; atMs < 3_000; atMs += 200) {
    pending.blocksRecorded(atMs)
    assert.deepEqual(pending.due('a', atMs), [])
  }
  assert.deepEqual(pending.due('a', 3_200), [{ txId: 'tx', replacedBy: null }])
})

test('without blocks, from another node and after a restart of the node only the long wait counts', () => {
  for (const [mempool, hasBlocks] of [
    ['a', false],
    ['b', true],
  ] as const) {
    const pending = pendingOf()
    pending.inMempool('tx', { mempool: 'a', atMs: 0 }, spends('x'))
    if (hasBlocks) pending.blocksRecorded(50_000)
    assert.deepEqual(pending.due(mempool, 60_000), [])
    assert.equal(pending.due(mempool, 60_001).length, 1)
  }
  const restarted = pendingOf(['tx'])
  restarted.blocksRecorded(50_000)
  assert.deepEqual(restarted.due('a', 59_000), [])
})

test('a transaction that left the mempool for a block waits for its acceptance', () => {
  const pending = pendingOf()
  pending.inMempool('tx', { mempool: 'a', atMs: 0 }, spends('x'))
  pending.inBlock('tx', 100)
  pending.inMempool('rival', { mempool: 'a', atMs: 300 }, spends('x'))
  pending.blocksRecorded(20_000)
  assert.deepEqual(pending.due('a', 20_000), [{ txId: 'rival', replacedBy: 'tx' }])
  pending.leave('rival')
  assert.deepEqual(pending.due('a', 60_100), [])
  assert.deepEqual(pending.due('a', 60_101), [{ txId: 'tx', replacedBy: null }])
})

test('what an accepted transaction spends, its rivals cannot: also one that a block showed first', () => {
  const pending = pendingOf()
  pending.inBlock('first', 0, [point('x')])
  pending.inMempool('second', { mempool: 'a', atMs: 0 }, spends('x', 'y'))
  assert.deepEqual(pending.rivalsOf('third', [point('x'), point('q')]).sort(), ['first', 'second'])
  assert.deepEqual(pending.rivalsOf('first', [point('x')]), ['second'])
  pending.leave('second')
  assert.deepEqual(pending.rivalsOf('first', [point('x'), point('y')]), [])
})

test('while transactions flow the mempool is asked every 200 ms at least, and a slow node half of the time', () => {
  const period = (tookMs: number) => tookMs + pauseMs(MEMPOOL_PACE, tookMs, true)
  assert.deepEqual([0, 10, 25, 40, 50, 120, 199].map(period), [100, 100, 100, 160, 200, 200, 200])
  assert.deepEqual([200, 1_000].map(period), [400, 2_000])
  assert.equal(pauseMs(MEMPOOL_PACE, 10, false), 500)
  const pending = pendingOf()
  assert.equal(pending.isFlowing(0), false)
  pending.inBlock('tx', 1_000, [point('x')])
  assert.equal(pending.isFlowing(5_900), true)
  assert.equal(pending.isFlowing(6_000), false)
})
