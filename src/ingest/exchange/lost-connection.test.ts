/**
 * If a connection is lost between two ticks, or while the store fails, everything that counts as observed has its rows.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { readRows } from '../../../test/ingest/read-feed.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import type {
  BestBidAskObservation,
  CandleObservation,
  DataObservation,
  TradeObservation,
} from '../../venues/observation.ts'
import type { Venue } from '../../venues/venue.ts'
import { candleFeed, feedOf, trackedFeeds } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { SymbolRecorder } from './record-symbol.ts'
import { noCounts } from './symbol-parts.ts'

const START_MS = Date.parse('2026-11-10T10:00:00Z')

async function setUp(t: TestContext, name: 'binance-futures' | 'hyperliquid') {
  const { plan } = VENUES[name]
  const clock = manualClock(START_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  const { series, coverage } = store
  const random = () => 0.5
  const writer = createRowWriter({ store, random, clock, log: createLogger({ level: 'silent' }) })
  t.after(async () => {
    await writer.close()
    await store.close()
  })
  const tracker = createCoverageTracker({ feeds: trackedFeeds(plan, 'BTC'), coverage, writer })
  const recorder = new SymbolRecorder(
    {
      ...{ plan, venue: {} as Venue, symbol: 'BTC', series, writer, random, clock, tracker },
      ...{ derivatives: undefined, counts: noCounts(), signal: new AbortController().signal },
    },
    { fromMs: START_MS, onError: assert.ifError },
  )
  const observe = (ms: number, observation: Partial<DataObservation>) =>
    recorder.observe({
      ...{ source: plan.source, symbol: 'BTC', instrument: 'BTC', key: null },
      ...{ venueTimeMs: START_MS + ms, receivedMs: START_MS + ms },
      ...observation,
    } as DataObservation)
  return { store, coverage, writer, tracker, recorder, observe }
}

test('a candle has what was received of it since the last tick', async (t) => {
  const { store, writer, recorder, observe } = await setUp(t, 'binance-futures')
  const candle: Partial<CandleObservation> = {
    ...{ kind: 'candle', interval: '1m', openTimeMs: START_MS, closed: false },
    ...{ open: '1', high: '2', low: '1', close: '2', volume: '3' },
    ...{ quoteVolume: '5', tradeCount: 2, takerBuyVolume: '1', takerBuyQuoteVolume: '2' },
  }
  observe(1_500, candle)
  recorder.gap('candles', START_MS + 1_501, Number.POSITIVE_INFINITY)
  await writer.flush()
  for (const interval of ['1m', '1h'] as const) {
    const range = { fromMs: START_MS, toMs: START_MS + 60_000 }
    const [row] = await readRows(store, candleFeed('cexa_futures', 'BTC', interval), range)
    assert.equal(row?.close, 2, interval)
  }
})

test('so has a second that is built from trades', async (t) => {
  const { store, writer, recorder, observe } = await setUp(t, 'hyperliquid')
  recorder.begins('trades', START_MS)
  const trade: Partial<TradeObservation> = { kind: 'trade', id: '1', price: '10', size: '1', side: 'buy' }
  observe(200, trade)
  recorder.gap('trades', START_MS + 201, Number.POSITIVE_INFINITY)
  await writer.flush()
  const range = { fromMs: START_MS, toMs: START_MS + 1_000 }
  const rows = await readRows(store, candleFeed('perpdex', 'BTC', '1s'), range)
  assert.deepEqual(
    rows.map(({ close, closed }) => [close, closed]),
    [[10, false]],
  )
})

test('seconds of quotes that did not fit into memory while the store failed are not claimed', async (t) => {
  const { coverage, writer, tracker, recorder, observe } = await setUp(t, 'binance-futures')
  tracker.up('best_bid_ask:BTC', START_MS)
  recorder.begins('best_bid_ask', START_MS)
  const lastMs = 700_500
  for (let ms = 500; ms <= lastMs; ms += 1_000) {
    const quote: Partial<BestBidAskObservation> = { kind: 'best_bid_ask', bid: ['1', '1'], ask: ['2', '1'] }
    observe(ms, { ...quote, updateId: ms } as Partial<DataObservation>)
  }
  recorder.gap('best_bid_ask', START_MS + lastMs + 1, Number.POSITIVE_INFINITY)
  tracker.failed('best_bid_ask:BTC', START_MS + lastMs + 1, 'venue_down')
  await writer.flush()
  const feed = feedOf('ticker', 'cexa_futures', 'BTC')
  const { observed } = await coverage.read([feed], START_MS, START_MS + 800_000)
  assert.deepEqual(
    observed.map(({ from, to }) => [from - START_MS, to - START_MS]),
    [[101_000, 700_000]],
  )
})
