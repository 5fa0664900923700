/** What a recorder makes of single observations, without a venue or a running clock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { readRows } from '../../../test/ingest/read-feed.ts'
import { seededRandom } from '../../../test/seeded-random.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import type {
  AggregateTradeObservation,
  BestBidAskObservation,
  ExchangeBookObservation,
  Level,
  TradeObservation,
} from '../../venues/observation.ts'
import type { Venue } from '../../venues/venue.ts'
import { MAX_TRANSIT_MS } from '../shared/dispatch-observations.ts'
import { candleFeed, channelsOf, feedOf } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { SymbolRecorder } from './record-symbol.ts'
import { noCounts } from './symbol-parts.ts'

const START_MS = Date.parse('2026-11-10T10:00:00Z')

/**
 * Quotes as [milliseconds after the start, update id], in order of arrival. Our clock is ahead of the venue's by
 * `aheadMs`.
 */
async function tickerOf(
  quotes: readonly (readonly [number, number])[],
  aheadMs = 0,
): Promise<[number, number][]> {
  const clock = manualClock(START_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  const { series, coverage } = store
  const writer = createRowWriter({
    store,
    random: Math.random,
    clock,
    log: createLogger({ level: 'silent' }),
  })
  const recorder = new SymbolRecorder(
    {
      ...{
        plan: VENUES['binance-futures'].plan,
        venue: {} as Venue,
        symbol: 'BTC',
        series,
        writer,
        random: Math.random,
        clock,
      },
      tracker: createCoverageTracker({ feeds: [], coverage, writer }),
      derivatives: undefined,
      counts: noCounts(),
      signal: new AbortController().signal,
    },
    { fromMs: START_MS, onError: assert.ifError },
  )
  // Only a quote of a later second shows that the last one is over.
  const later = [59_000, 1_000] as const
  for (const [ms, updateId] of [...quotes, later]) {
    const timeMs = START_MS + ms
    recorder.observe({
      ...{ kind: 'best_bid_ask', source: 'cexa_futures', symbol: 'BTC', instrument: 'BTCUSDT' },
      ...{ venueTimeMs: timeMs, receivedMs: timeMs + aheadMs, key: null, updateId },
      bid: [String(100 + updateId), '1'],
      ask: [String(200 + updateId), '1'],
    } as BestBidAskObservation)
    recorder.show(timeMs + aheadMs, timeMs + aheadMs)
  }
  const endMs = START_MS + 60_000 + Math.abs(aheadMs)
  recorder.show(endMs, endMs)
  await writer.flush()
  const range = { fromMs: START_MS, toMs: START_MS + 60_000 }
  const rows = await readRows(store, feedOf('ticker', 'cexa_futures', 'BTC'), range)
  await writer.close()
  await store.close()
  return rows.map((row) => [Date.parse(row.timestamp) - START_MS, Number(row.bid_price) - 100])
}

test('perpetuals: an empty trade is left out and counted, one that makes no sense is a gap in trades and seconds', async () => {
  const clock = manualClock(START_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  const { series, coverage } = store
  const writer = createRowWriter({
    store,
    random: Math.random,
    clock,
    log: createLogger({ level: 'silent' }),
  })
  const counts = noCounts()
  const [trades, seconds] = [feedOf('trades', 'perpdex', 'BTC'), candleFeed('perpdex', 'BTC', '1s')]
  const tracker = createCoverageTracker({
    feeds: [trades, seconds].map((feed) => ({ feed, channels: ['trades:BTC'] })),
    coverage,
    writer,
  })
  const recorder = new SymbolRecorder(
    {
      ...{
        plan: VENUES.hyperliquid.plan,
        venue: {} as Venue,
        symbol: 'BTC',
        series,
        writer,
        random: Math.random,
        clock,
        tracker,
      },
      ...{ derivatives: undefined, counts, signal: new AbortController().signal },
    },
    { fromMs: START_MS, onError: assert.ifError },
  )
  tracker.up('trades:BTC', START_MS)
  recorder.begins('trades', START_MS)
  const send = (ms: number, price: string, size: string) =>
    recorder.observe({
      ...{ kind: 'trade', source: 'perpdex', symbol: 'BTC', instrument: 'BTC', key: null, side: 'buy' },
      ...{ venueTimeMs: START_MS + ms, receivedMs: START_MS + ms, id: `${ms}`, price, size },
    } as TradeObservation)
  send(100, '10', '1')
  send(200, '0.0', '0.0')
  send(1_100, '10', '0')
  send(2_100, '10', '1')
  send(2_200, '10', '-1')
  send(3_100, '0', '1')
  // It proves trades as far back as they may arrive late.
  const bookMs = START_MS + 5_000 + MAX_TRANSIT_MS
  recorder.observe({
    ...{ kind: 'exchange_book', source: 'perpdex', symbol: 'BTC', instrument: 'BTC', key: null },
    ...{ venueTimeMs: bookMs, receivedMs: bookMs, bids: [['9', '1']], asks: [['11', '1']] },
  })
  recorder.show(START_MS + 5_000, START_MS + 5_000)
  tracker.coverTo(START_MS + 5_000)
  await writer.flush()
  const range = { fromMs: START_MS, toMs: START_MS + 5_000 }
  const times = async (feed: typeof trades | typeof seconds) =>
    (await readRows(store, feed, range)).map((row) => Date.parse(row.timestamp) - START_MS)
  const gaps = async (feed: typeof trades | typeof seconds) =>
    (await coverage.read([feed], START_MS, range.toMs)).gaps.map(({ from, to }) => [
      ...[from - START_MS, to - START_MS],
    ])
  assert.deepEqual([await times(trades), counts.emptyTrades], [[100, 2_100], 2])
  assert.deepEqual(await gaps(trades), [
    [2_200, 2_201],
    [3_100, 3_101],
  ])
  assert.deepEqual(await gaps(seconds), [[2_000, 4_000]])
  await writer.close()
  await store.close()
})

test('seconds between the subscription and the minute of the first trade are not covered', async () => {
  const clock = manualClock(START_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  const { series, coverage } = store
  const log = createLogger({ level: 'silent' })
  const random = () => 0.5
  const writer = createRowWriter({ store, random, clock, log })
  const seconds = candleFeed('cexa_futures', 'BTC', '1s')
  const feeds = [{ feed: seconds, channels: ['aggregate_trades:BTC'] }]
  const tracker = createCoverageTracker({ feeds, coverage, writer })
  const trade = (id: number, ms: number) =>
    ({
      ...{ kind: 'aggregate_trade', source: 'cexa_futures', symbol: 'BTC', instrument: 'BTCUSDT' },
      ...{ venueTimeMs: START_MS + ms, receivedMs: START_MS + ms, key: String(id), id },
      ...{ firstTradeId: id, lastTradeId: id, price: '10', size: '1', side: 'buy' },
    }) as AggregateTradeObservation
  const venue = {
    async *history() {
      yield { observations: [trade(1, 60_200), trade(2, 63_000)], covered: null, missing: [] }
    },
  } as unknown as Venue
  const signal = new AbortController().signal
  const recorder = new SymbolRecorder(
    {
      ...{ plan: VENUES['binance-futures'].plan, venue, symbol: 'BTC', series, writer, random, clock },
      ...{ tracker, derivatives: undefined, counts: noCounts(), signal },
    },
    { fromMs: START_MS, onError: assert.ifError },
  )
  tracker.up('aggregate_trades:BTC', START_MS + 53_000)
  clock.advance(65_000)
  recorder.observe(trade(3, 65_000))
  for (let second = 0; second < 5; second++) {
    clock.advance(1_000)
    recorder.show(clock.now(), clock.now())
    tracker.coverTo(clock.now())
    await writer.flush()
  }
  const { observed } = await coverage.read([seconds], START_MS, START_MS + 90_000)
  assert.deepEqual(
    observed.map(({ from, to }) => [from - START_MS, to - START_MS]),
    [[60_000, 63_500]],
  )
  await writer.close()
  await store.close()
})

test('the row of a second is its newest quote, though frames arrived out of order', async () => {
  assert.deepEqual(
    await tickerOf([
      [100, 1],
      [900, 3],
      [800, 2],
      [1_300, 5],
      [950, 4],
      [1_200, 4],
    ]),
    [
      [0, 4],
      [1_000, 5],
    ],
  )
})

test('a quote that comes after its second was written corrects the row', async () => {
  assert.deepEqual(
    await tickerOf([
      [100, 1],
      [2_600, 3],
      [900, 2],
    ]),
    [
      [0, 2],
      [2_000, 3],
    ],
  )
})

test('the row of a second is its last quote, however wrong our clock is', async () => {
  for (const aheadMs of [-7_300, -1_270, 0, 1_270, 4_900, 86_000]) {
    assert.deepEqual(
      await tickerOf(
        [
          [100, 1],
          [600, 2],
          [950, 3],
          [1_100, 4],
          [1_990, 5],
          [2_500, 6],
        ],
        aheadMs,
      ),
      [
        [0, 3],
        [1_000, 5],
        [2_000, 6],
      ],
      `${aheadMs} ms ahead`,
    )
  }
})

test('every row of a perpetual has the 20 levels that the venue publishes', async (t) => {
  const random = seededRandom(t)
  const clock = manualClock(START_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  const { series, coverage } = store
  const writer = createRowWriter({
    store,
    random: Math.random,
    clock,
    log: createLogger({ level: 'silent' }),
  })
  const { plan } = VENUES.hyperliquid
  assert.deepEqual(
    channelsOf(plan, 'BTC').filter(({ topic }) => topic.startsWith('book')),
    [{ topic: 'book', symbol: 'BTC' }],
    'books of fewer levels are not subscribed to',
  )
  const recorder = new SymbolRecorder(
    {
      ...{ plan, venue: {} as Venue, symbol: 'BTC', series, writer, random: Math.random, clock },
      tracker: createCoverageTracker({ feeds: [], coverage, writer }),
      derivatives: undefined,
      counts: { trades: 0, emptyTrades: 0, differences: 0, lateTrades: 0, missedMinutes: 0 },
      signal: new AbortController().signal,
    },
    { fromMs: START_MS, onError: assert.ifError },
  )
  const whole = new Map<number, number>()
  let nextFullMs = 0
  let middle = 1_000
  for (let ms = 0; ms < 60_000; ms += random.int(470, 660)) {
    middle += random.int(-3, 3)
    const isFull = ms >= nextFullMs
    if (isFull) nextFullMs = ms + random.int(5_000, 5_600)
    const levels = (step: number) =>
      Array.from({ length: 20 }, (_, i): Level => [String(middle + step * (i + 1)), '1', 1])
    const timeMs = START_MS + ms
    if (isFull) {
      whole.set(timeMs, middle)
      recorder.observe({
        ...{ kind: 'exchange_book', source: 'perpdex', symbol: 'BTC', instrument: 'BTC', key: null },
        ...{ venueTimeMs: timeMs, receivedMs: timeMs, via: 'stream' },
        ...{ bids: levels(-1), asks: levels(1) },
      } as ExchangeBookObservation)
    }
    recorder.sample(timeMs, timeMs)
  }
  recorder.sample(START_MS + 62_000, START_MS + 62_000)
  await writer.flush()
  const range = { fromMs: START_MS, toMs: START_MS + 120_000 }
  const rows = await readRows(store, feedOf('snapshots', 'perpdex', 'BTC'), range)
  assert.ok(rows.length >= 8, `${rows.length} rows`)
  for (const row of rows) {
    const [bids, asks] = [row.bids as number[][], row.asks as number[][]]
    assert.deepEqual([bids.length, asks.length], [20, 20], row.timestamp)
    // The last full book at or before its time.
    const latest = [...whole].findLast(([timeMs]) => timeMs <= Date.parse(row.timestamp))
    assert.equal(bids[0]?.[0], (latest?.[1] ?? 0) - 1)
  }
  await writer.close()
  await store.close()
})
