import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { observed } from '../../store/coverage.ts'
import { VENUES } from '../../venues/list.ts'
import { feedOf } from '../shared/feeds.ts'
import { retractUnreceived } from './resume.ts'

const START_MS = Date.parse('2026-11-10T10:00:00Z')

test('single trades: the last moments before an end are observed up to the last row, at most so long back', async () => {
  const store = await storesIn(':memory:', manualClock(START_MS)).environment('test')
  const { coverage } = store
  const trades = feedOf('trades', 'perpdex', 'BTC')
  const quiet = feedOf('trades', 'perpdex', 'ETH')
  const trade = { seq: 1, tradeId: '1', price: '1', size: '1', side: 'buy' } as const
  await store.write({ rows: [{ feed: trades, rows: [{ ...trade, time: START_MS + 30_000 }] }] })
  await store.write({ rows: [{ feed: quiet, rows: [{ ...trade, time: START_MS + 5_000 }] }] })
  await store.write({ coverage: [trades, quiet].map((feed) => observed(feed, START_MS, START_MS + 40_000)) })
  for (const symbol of ['BTC', 'ETH', 'SOL'] as const)
    await retractUnreceived(store, VENUES.hyperliquid.plan, symbol, START_MS + 60_000)
  const gaps = async (feed: typeof trades) =>
    (await coverage.read([feed], START_MS, START_MS + 60_000)).gaps.map(({ from, to }) => [
      from - START_MS,
      to - START_MS,
    ])
  assert.deepEqual(await gaps(trades), [[30_001, 60_000]])
  assert.deepEqual(await gaps(quiet), [[25_000, 60_000]])
  await store.close()
})
