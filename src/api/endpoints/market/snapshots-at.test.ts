import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../core/errors.ts'
import { snapshotsAt } from './snapshots-at.ts'

/**
 * Two hundred contracts of one duration span the time; none has a row, and each is read in its own turn of the event
 * loop.
 */
function emptyStore() {
  const reads = { all: 0, now: 0, most: 0 }
  const nothing = { row: undefined, covered: { from: 0, to: 1 }, coverage: { gaps: [], finalTo: 0 } }
  const store = {
    markets: {
      holding: async ({ marketType }: { marketType: string }) =>
        marketType === '1h'
          ? Array.from({ length: 200 }, (_, i) => ({ market: { market_id: `m${i}`, market_type: '1h' } }))
          : [],
    },
    coveredRow: async () => {
      reads.all++
      reads.most = Math.max(reads.most, ++reads.now)
      await new Promise(setImmediate)
      reads.now--
      return nothing
    },
    series: { at: async () => undefined },
  }
  const ask = (accountId: string, isGone?: () => boolean) =>
    Promise.resolve(
      snapshotsAt.run({
        ...{ input: { source: 'predmkt_b', symbol: 'SOL', time: 1_000 }, ignored: [], nowMs: 2_000 },
        ...{ services: { market: { store } }, caller: { accountId }, range: undefined, isGone },
      } as never),
    )
  return { reads, ask }
}

test('of an account that asks for many times without a snapshot, others wait behind one read', async () => {
  const { reads, ask } = emptyStore()
  const asked = Array.from({ length: 20 }, () => ask('a').catch(() => {}))
  while (reads.all < 20 * 8 + 50) await new Promise(setImmediate)
  reads.most = 0
  while (reads.all < 20 * 8 + 500) await new Promise(setImmediate)
  assert.equal(reads.most, 1)
  await Promise.all(asked)
  assert.ok(reads.all >= 20 * 200)
})

test('a search without a snapshot ends when its caller has left', async () => {
  const { reads, ask } = emptyStore()
  await assert.rejects(
    ask('a', () => reads.all >= 30),
    ApiError,
    'it has no price',
  )
  assert.equal(reads.all, 30)
})
