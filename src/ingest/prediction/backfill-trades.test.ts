/** Which gaps are closed by what a venue lists of its trades and midpoints. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { pacedClock } from '../../../test/predictions/paced-clock.ts'
import { type CoverageChange, gap, observed } from '../../store/coverage.ts'
import type { HistoryPage, HistoryRequest } from '../../venues/venue.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { type BackfilledMarket, backfillTrades } from './backfill-trades.ts'

const GAP = { from: Date.parse('2026-11-15T10:00:00Z'), to: Date.parse('2026-11-15T10:04:00Z') }
const TRADES = feedOf('trades', 'predmkt_a', 'BTC')
const CANDLES = candleFeed('predmkt_a', 'BTC', '5m')
const WINDOW = { fromMs: GAP.from - 60_000, toMs: GAP.to + 60_000 }

async function backfilled(
  nowMs: number,
  mids: (request: HistoryRequest) => HistoryPage,
  isListed = true,
  before: readonly CoverageChange[] = [],
  knownToMs = nowMs,
): Promise<string[]> {
  const store = await storesIn(':memory:', pacedClock(nowMs)).environment('test')
  for (const feed of [TRADES, CANDLES]) {
    await store.write({ coverage: [observed(feed, GAP.from - 600_000, GAP.from)] })
    await store.write({ coverage: [gap(feed, GAP.from, GAP.to, 'not_observed')] })
    await store.write({ coverage: [observed(feed, GAP.to, nowMs)] })
  }
  await store.write({ coverage: before })
  const closed: string[] = []
  async function* history(request: HistoryRequest): AsyncGenerator<HistoryPage> {
    if (request.topic === 'mids') yield mids(request)
    else if (request.topic === 'markets' && !isListed) yield { observations: [], covered: null, missing: [] }
    else yield { observations: [], covered: request.range, missing: [] }
  }
  const market: BackfilledMarket = {
    market: { marketId: '0xaa', source: 'predmkt_a', symbol: 'BTC', active: true, status: 'open' },
    traded: WINDOW,
    priced: WINDOW,
    firstMs: WINDOW.fromMs,
    needsOwnSweep: false,
    isUntraded: false,
    isSwept: true,
    swept() {},
    trade() {},
    mid() {},
    show() {},
    ready: () => Promise.resolve(),
  }
  try {
    await backfillTrades({
      feed: TRADES,
      candleFeeds: [CANDLES],
      symbol: 'BTC',
      venue: { history },
      coverage: store.coverage,
      tracker: { confirm: (feed) => void closed.push(feed.dataset) },
      listedMs: nowMs,
      isKnownTo: (toMs) => toMs <= knownToMs,
      nowMs,
      signal: new AbortController().signal,
      onMarket() {},
      markets: () => [market],
    })
  } finally {
    await store.close()
  }
  return closed
}

const SOON_MS = GAP.to + 120_000

test('gaps of candles are closed with the trades where the midpoints were sent, else only the trades', async () => {
  const closed = await backfilled(SOON_MS, ({ range }) => ({ observations: [], covered: range, missing: [] }))
  assert.deepEqual(closed, ['trades', 'candles'])
  const coarse = await backfilled(SOON_MS, () => ({ observations: [], covered: null, missing: [] }))
  assert.deepEqual(coarse, ['trades'])
})

test('trades wait for midpoints that cannot be requested for an hour, not for ever', async () => {
  const fail = () => {
    throw new Error('no answer')
  }
  await assert.rejects(backfilled(SOON_MS, fail), /no answer/)
  assert.deepEqual(await backfilled(GAP.to + 3_700_000, fail), ['trades'])
})

test('a gap stays where the list of markets has one that cannot be read: it may have been traded', async () => {
  const mids = ({ range }: HistoryRequest) => ({ observations: [], covered: range, missing: [] })
  assert.deepEqual(await backfilled(SOON_MS, mids, false), [])
})

test('a gap stays while the windows of its time are not listed: one of them may have been traded', async () => {
  const mids = ({ range }: HistoryRequest) => ({ observations: [], covered: range, missing: [] })
  assert.deepEqual(await backfilled(SOON_MS, mids, true, [], GAP.to - 1), [])
  assert.deepEqual(await backfilled(SOON_MS, mids, true, [], GAP.to), ['trades', 'candles'])
})

test('a gap from before the first observation, of a refused trade, is not closed', async () => {
  const mids = () => ({ observations: [], covered: null, missing: [] })
  const refusedMs = GAP.from - 1_200_000
  const before = [gap(TRADES, refusedMs, refusedMs + 1, 'not_observed')]
  assert.deepEqual(await backfilled(SOON_MS, mids, true, before), ['trades'])
})
