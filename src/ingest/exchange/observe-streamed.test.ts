import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Feed, feedName } from '../../core/feed.ts'
import { VENUES } from '../../venues/list.ts'
import type { DataObservation } from '../../venues/observation.ts'
import { feedOf } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { observeStreamed } from './observe-streamed.ts'

const TICKER = feedOf('ticker', 'cexa_futures', 'BTC')
const LIQUIDATIONS = feedOf('liquidations', 'cexa_futures', 'BTC')
const TRADES = feedOf('trades', 'perpdex', 'BTC')
const QUOTES = 'best_bid_ask:BTC'
const MINUTES = 'candles:BTC:1m'
const FORCED = 'liquidations:BTC'
const TRADED = 'trades:BTC'

function tracked(venue: 'binance-futures' | 'hyperliquid' = 'binance-futures') {
  const spans: string[] = []
  const gaps: string[] = []
  const observed = (feed: Feed, fromMs: number, toMs: number) => {
    if (toMs > fromMs) spans.push(`${feedName(feed)} ${fromMs}-${toMs}`)
  }
  const tracker = createCoverageTracker({
    feeds: [
      { feed: TICKER, channels: [QUOTES] },
      { feed: LIQUIDATIONS, channels: [FORCED, MINUTES] },
      { feed: TRADES, channels: [TRADED] },
    ],
    coverage: { read: async () => ({ complete: true, observed: [], gaps: [] }) },
    writer: {
      observed,
      gap: (_feed, fromMs, toMs, reason) => void gaps.push(`${fromMs}-${toMs} ${reason}`),
      unobserved() {},
      change() {},
    },
  })
  const streamed = observeStreamed({ plan: VENUES[venue].plan, symbol: 'BTC', tracker })
  return {
    ...{ tracker, streamed, gaps },
    receive: (kind: DataObservation['kind'], receivedMs: number, venueTimeMs = receivedMs) =>
      streamed.receive({ kind, receivedMs, venueTimeMs } as DataObservation),
    /** Returns what became observed up to this instant. */
    coverTo(toMs: number): string[] {
      streamed.show()
      tracker.coverTo(toMs)
      return spans.splice(0)
    },
  }
}

test('quotes are observed from their first one after a subscription up to their newest', () => {
  const { tracker, streamed, receive, coverTo } = tracked()
  tracker.up(QUOTES, 1_000)
  streamed.begins('best_bid_ask')
  assert.deepEqual(coverTo(20_000), [], 'subscribed, and nothing was sent')
  receive('best_bid_ask', 25_000)
  receive('best_bid_ask', 31_000, 30_900)
  assert.deepEqual(coverTo(40_000), [`${feedName(TICKER)} 25000-30901`])
  assert.deepEqual(coverTo(60_000), [], 'silent since')
  receive('best_bid_ask', 61_000)
  assert.deepEqual(coverTo(62_000), [`${feedName(TICKER)} 30901-61001`], 'a silence that is normal')
})

test('the time from a lost socket to the first data of the next one is one gap', () => {
  const { tracker, streamed, receive, coverTo, gaps } = tracked()
  tracker.up(QUOTES, 1_000)
  streamed.begins('best_bid_ask')
  receive('best_bid_ask', 2_000)
  coverTo(3_000)
  tracker.failed(QUOTES, 20_000, 'venue_down')
  tracker.up(QUOTES, 25_000)
  streamed.begins('best_bid_ask')
  assert.deepEqual(coverTo(40_000), [])
  receive('best_bid_ask', 45_000, 45_400)
  receive('best_bid_ask', 46_000)
  assert.deepEqual(coverTo(50_000), [`${feedName(TICKER)} 45400-46001`])
  assert.deepEqual(gaps, ['20000-25000 venue_down', '25000-45400 venue_down'])
})

test('after a message that may have been lost, nothing is observed until the next one', () => {
  const { tracker, streamed, receive, coverTo } = tracked()
  tracker.up(QUOTES, 1_000)
  streamed.begins('best_bid_ask')
  receive('best_bid_ask', 2_000)
  receive('best_bid_ask', 3_000)
  streamed.doubted('best_bid_ask')
  assert.deepEqual(coverTo(20_000), [`${feedName(TICKER)} 2000-3001`])
  streamed.doubted('best_bid_ask')
  receive('best_bid_ask', 21_000, 20_900)
  receive('best_bid_ask', 22_000)
  assert.deepEqual(coverTo(30_000), [`${feedName(TICKER)} 21000-22001`])
})

test('liquidations are observed while candles or trades come over their socket', () => {
  const { tracker, streamed, receive, coverTo } = tracked()
  tracker.up(FORCED, 1_000)
  tracker.up(MINUTES, 1_000)
  streamed.begins('liquidations')
  streamed.begins('candles')
  assert.deepEqual(coverTo(9_000), [])
  receive('candle', 10_000)
  receive('aggregate_trade', 20_000)
  receive('best_bid_ask', 30_000)
  assert.deepEqual(coverTo(40_000), [`${feedName(LIQUIDATIONS)} 10000-19001`])
})

test('other data of their socket proves trades as far back as a trade may arrive late', () => {
  const { tracker, receive, coverTo } = tracked('hyperliquid')
  tracker.up(TRADED, 1_000)
  receive('trade', 30_000, 29_500)
  for (let ms = 31_000; ms <= 36_000; ms += 1_000) receive('open_interest', ms)
  assert.deepEqual(coverTo(33_000), [`${feedName(TRADES)} 1000-29501`], 'one of 30 s is under way')
  receive('exchange_book', 50_000)
  assert.deepEqual(coverTo(47_000), [`${feedName(TRADES)} 29501-35001`])
})

test('a socket that is lost before the first tick claims nothing', () => {
  const { tracker, streamed, receive, coverTo } = tracked()
  tracker.up(QUOTES, 1_000)
  streamed.begins('best_bid_ask')
  receive('best_bid_ask', 1_200)
  tracker.failed(QUOTES, 1_900, 'venue_down')
  assert.deepEqual(coverTo(5_000), [])
})
