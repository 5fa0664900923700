/** Counts of flow that live recording could not prove are requested by the backfill, and until then their rows are a gap. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { readGaps, readRows } from '../../../test/ingest/read-feed.ts'
import { decimal } from '../../core/decimal.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import type { DataObservation } from '../../venues/observation.ts'
import type { HistoryPage, HistoryRequest, Venue } from '../../venues/venue.ts'
import { feedOf } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import type { Candle } from './candle.ts'
import { closeFlow } from './close-flow.ts'
import { runBackfill } from './run-backfill.ts'
import { noCounts, type SymbolParts } from './symbol-parts.ts'

const START_MS = Date.parse('2026-11-10T10:00:00Z')
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const { plan } = VENUES['binance-spot']
const log = createLogger({ level: 'silent' })

const at = (minute: number) => START_MS + minute * MINUTE_MS
/** Two trades a minute, one of them a buy. */
const candleOf = (minute: number): Candle => ({
  ...{ openMs: at(minute), open: '1', high: '1', low: '1', close: '1', volume: decimal('2'), count: 2 },
  ...{ quote: decimal('2'), buyVolume: decimal('1'), buyQuote: decimal('1'), buys: null, sells: null },
})
const about = {
  source: 'cexa',
  key: null,
  symbol: 'BTC',
  instrument: 'BTCUSDT',
  receivedMs: START_MS,
} as const
const klineOf = (minute: number): DataObservation => ({
  ...{ kind: 'candle', ...about, interval: '1m', openTimeMs: at(minute), closed: true },
  ...{ open: '1', high: '1', low: '1', close: '1', volume: '2', quoteVolume: '2' },
  ...{ takerBuyVolume: '1', takerBuyQuoteVolume: '1', tradeCount: 2 },
  ...{ closeTimeMs: at(minute + 1) - 1, venueTimeMs: at(minute) },
})
const tradesOf = (minute: number): DataObservation[] =>
  [0, 1].map((index) => {
    const id = 2 * minute + index
    return {
      ...{ kind: 'aggregate_trade', ...about, id, price: '1', size: '1', venueTimeMs: at(minute) + index },
      ...{ side: index === 0 ? 'buy' : 'sell', firstTradeId: id, lastTradeId: id },
    }
  })

/** Ten recorded minutes, of which live recording could not prove the trades of minute 2. */
async function setUp(t: TestContext) {
  const clock = manualClock(at(10))
  const store = await storesIn(':memory:', clock).environment('test')
  const random = () => 0.5
  const writer = createRowWriter({ store, random, clock, log })
  t.after(async () => {
    await writer.close()
    await store.close()
  })
  let trades: 'listed' | 'refused' | 'dropped' = 'listed'
  async function* history({ topic, range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    const minutes = Array.from({ length: 10 }, (_, minute) => minute)
    const wanted = minutes.filter((minute) => at(minute) >= range.fromMs && at(minute) < range.toMs)
    if (topic === 'candles') yield { observations: wanted.map(klineOf), covered: range, missing: [] }
    else if (trades === 'refused') throw new Error('the answer does not fit the question')
    else if (trades === 'dropped')
      yield { observations: [], covered: null, missing: [{ range, reason: 'not_provided' }] }
    else yield { observations: wanted.flatMap(tradesOf), covered: range, missing: [] }
  }
  const venue = { history, describe: { name: 'binance-spot' } } as unknown as Venue
  const { series, coverage } = store
  const tracker = createCoverageTracker({ feeds: [], coverage, writer })
  const parts: SymbolParts = {
    ...{ plan, venue, symbol: 'BTC', series, writer, tracker, derivatives: undefined },
    ...{ counts: noCounts(), random, signal: new AbortController().signal },
    clock: { ...clock, async sleep() {} },
  }
  const prover: Parameters<typeof closeFlow>[2] = {
    trade() {},
    forget() {},
    judge: ({ openMs }) =>
      openMs === at(2)
        ? { kind: 'late', provenMs: 0 }
        : { kind: 'whole', candles: [{ ...candleOf((openMs - START_MS) / MINUTE_MS), buys: 1, sells: 1 }] },
  }
  async function record(countsFromMs: number) {
    const flow = closeFlow(parts, START_MS, prover, { isWaiting: false })
    await flow.start(coverage, countsFromMs)
    flow.begin(START_MS)
    flow.minutes(
      { good: Array.from({ length: 10 }, (_, minute) => candleOf(minute)), refused: [] },
      ...([[], START_MS, at(10)] as const),
    )
    flow.close(clock.now())
    await writer.flush()
  }
  async function backfill() {
    await runBackfill({
      steps: plan.backfill.filter(({ kind }) => kind !== 'seconds'),
      targets: [{ parts, endMs: () => at(10) }],
      ...{ coverage, log, fromMs: START_MS, isAgain: true },
    })
    await writer.flush()
  }
  /** Counts of the rows, and the minutes between which there are gaps. */
  async function stored(interval: '5m' | '15m' = '5m') {
    const feed = feedOf('flow', 'cexa', 'BTC', interval)
    const range = { fromMs: START_MS, toMs: at(10) }
    const rows = await readRows(store, feed, range)
    const gaps = await readGaps(store, feed, range)
    const minuteOf = (timeMs: number) => (timeMs - START_MS) / MINUTE_MS
    return {
      counts: rows.map(({ num_buys, num_sells }) => [num_buys, num_sells]),
      gaps: gaps.map(({ from, to }) => [minuteOf(from), minuteOf(to)]),
    }
  }
  const answer = (next: typeof trades) => {
    trades = next
  }
  return { clock, store, record, backfill, stored, answer }
}

const LACKING = {
  counts: [
    [null, null],
    [5, 5],
  ],
  gaps: [[0, 5]],
}
const WITHOUT = { ...LACKING, gaps: [] }
const COUNTED = {
  counts: [
    [5, 5],
    [5, 5],
  ],
  gaps: [],
}

test('a row whose counts are not proven in time is a gap until the venue lists its trades', async (t) => {
  const { store, record, backfill, stored, answer } = await setUp(t)
  await record(START_MS)
  assert.deepEqual(await stored(), LACKING)
  answer('refused')
  await backfill()
  assert.deepEqual(await stored(), LACKING)
  answer('listed')
  await backfill()
  assert.deepEqual(await stored(), COUNTED)
  const feeds = [feedOf('flow', 'cexa', 'BTC', '5m')]
  const range = { from: 0, to: Number.MAX_SAFE_INTEGER }
  assert.deepEqual(await store.series.revisions({ feeds, range, limit: 1 }), [], 'it was open until then')
})

test('trades that the venue no longer has, or that are too old to be requested, leave rows without counts', async (t) => {
  await t.test('no longer listed', async (t) => {
    const { record, backfill, stored, answer } = await setUp(t)
    await record(START_MS)
    answer('dropped')
    await backfill()
    assert.deepEqual(await stored(), WITHOUT)
  })
  await t.test('too old', async (t) => {
    const { clock, record, backfill, stored, answer } = await setUp(t)
    await record(START_MS)
    answer('refused')
    clock.advance(6 * HOUR_MS)
    await backfill()
    assert.deepEqual(await stored(), WITHOUT)
  })
  await t.test('never requested', async (t) => {
    const { record, stored } = await setUp(t)
    await record(Number.POSITIVE_INFINITY)
    assert.deepEqual(await stored(), WITHOUT)
  })
})

test('after a restart, a row that was complete without counts stays so, and one that was a gap gets them', async (t) => {
  await t.test('complete', async (t) => {
    const { record, backfill, stored } = await setUp(t)
    await record(Number.POSITIVE_INFINITY)
    await backfill()
    await record(START_MS)
    await backfill()
    assert.deepEqual(await stored(), WITHOUT)
  })
  await t.test('a gap', async (t) => {
    const { record, backfill, stored } = await setUp(t)
    await record(START_MS)
    await record(START_MS)
    assert.deepEqual(await stored(), LACKING)
    await backfill()
    await record(START_MS)
    assert.deepEqual(await stored(), COUNTED)
  })
})
