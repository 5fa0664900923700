import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { readGaps, readRows } from '../../../test/ingest/read-feed.ts'
import { decimal } from '../../core/decimal.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import type { AggregateTradeObservation } from '../../venues/observation.ts'
import type { HistoryPage, HistoryRequest, Venue } from '../../venues/venue.ts'
import { feedOf } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import type { Candle } from './candle.ts'
import { closeFlow, isCountedIn, readCounts } from './close-flow.ts'
import { proveMinutes } from './prove-minutes.ts'
import { noCounts, type SymbolParts } from './symbol-parts.ts'

const START_MS = Date.parse('2026-11-10T10:00:00Z')
const MINUTE_MS = 60_000

/** A store, a flow closer that writes to it, and candles with two trades a minute, one of them a buy. */
async function setUp(
  venue: Partial<Venue>,
  proverOf: (parts: SymbolParts) => Parameters<typeof closeFlow>[2],
) {
  const clock = manualClock(START_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  const { series, coverage } = store
  const random = () => 0.5
  const writer = createRowWriter({ store, random, clock, log: createLogger({ level: 'silent' }) })
  const tracker = createCoverageTracker({ feeds: [{ feed, channels: ['minute'] }], coverage, writer })
  const signal = new AbortController().signal
  const parts: SymbolParts = {
    ...{ plan: VENUES['binance-spot'].plan, venue: venue as Venue, symbol: 'BTC', series, writer, tracker },
    ...{ derivatives: undefined, counts: noCounts(), random, clock, signal },
  }
  const follower = { isWaiting: false }
  const flow = closeFlow(parts, START_MS, proverOf(parts), follower)
  return {
    ...{ clock, store, writer, tracker, flow, follower },
    async close() {
      await writer.close()
      await store.close()
    },
  }
}

const at = (minute: number) => START_MS + minute * MINUTE_MS
const candleOf = (minute: number): Candle => ({
  ...{ openMs: at(minute), open: '1', high: '1', low: '1', close: '1', volume: decimal('2'), count: 2 },
  ...{ quote: decimal('2'), buyVolume: decimal('1'), buyQuote: decimal('1'), buys: null, sells: null },
})
const feed = feedOf('flow', 'cexa', 'BTC', '5m')

test('flow has no bar over a minute that the venue has no candle of, and a gap there', async () => {
  const prover = { trade() {}, judge: () => ({ kind: 'late', provenMs: 0 }) as const, forget() {} }
  const { clock, store, writer, flow, close } = await setUp({}, () => prover)
  await flow.start(store.coverage, Number.POSITIVE_INFINITY)
  const candles = [0, 1, 3, 4, 5, 6, 7, 8, 9].map(candleOf)
  const missing = [{ range: { fromMs: at(2), toMs: at(3) }, reason: 'not_provided' }] as const
  flow.minutes({ good: candles, refused: [] }, missing, START_MS, at(10))
  flow.close(clock.now())
  await writer.flush()
  const range = { fromMs: START_MS, toMs: at(10) }
  const rows = await readRows(store, feed, range)
  assert.deepEqual(
    rows.map(({ timestamp, buy_volume }) => [Date.parse(timestamp), buy_volume]),
    [[at(5), 5]],
  )
  assert.deepEqual(
    (await readGaps(store, feed, range)).map(({ from, to, reason }) => [from, to, reason]),
    [[at(2), at(3), 'not_provided']],
  )
  await close()
})

test('minutes between the start and the first trade are counted from the trades that the venue lists', async () => {
  let requests = 0
  async function* history({ range }: HistoryRequest): AsyncGenerator<HistoryPage> {
    requests += 1
    const trades = [0, 1].map((index): AggregateTradeObservation => {
      const id = 2 * ((range.fromMs - START_MS) / MINUTE_MS) + index
      return {
        ...{ kind: 'aggregate_trade', source: 'cexa', key: null, symbol: 'BTC', instrument: 'BTCUSDT' },
        ...{ id, price: '1', size: '1' },
        ...{ side: index === 0 ? 'buy' : 'sell', firstTradeId: id, lastTradeId: id },
        ...{ venueTimeMs: range.fromMs + index, receivedMs: START_MS },
      }
    })
    yield { observations: trades, covered: range, missing: [] }
  }
  const follower = { provenMs: Number.NEGATIVE_INFINITY, prove() {} }
  const { clock, store, writer, flow, close } = await setUp({ history }, (parts) =>
    proveMinutes(parts, { follower, lengthMs: MINUTE_MS, onError: assert.ifError }),
  )
  await flow.start(store.coverage, Number.POSITIVE_INFINITY)
  // No trade has arrived yet, because the socket has been down since the start.
  flow.minutes({ good: [0, 1, 2, 3, 4].map(candleOf), refused: [] }, [], START_MS, at(5))
  for (let turn = 0; turn < 20 && flow.closedToMs < at(5); turn++) {
    flow.close(clock.now())
    await new Promise(setImmediate)
  }
  await writer.flush()
  const [row] = await readRows(store, feed, { fromMs: START_MS, toMs: at(5) })
  assert.deepEqual([row?.num_buys, row?.num_sells, requests], [5, 5, 5])
  await close()
})

test('a bar that is shown has the minutes whose trades are not proven yet', async () => {
  const prover = { trade() {}, judge: () => ({ kind: 'wait' }) as const, forget() {} }
  const { clock, store, writer, flow, close } = await setUp({}, () => prover)
  await flow.start(store.coverage, Number.POSITIVE_INFINITY)
  const lost = { range: { fromMs: at(7), toMs: at(8) }, reason: 'not_provided' } as const
  flow.minutes({ good: [0, 1, 2].map(candleOf), refused: [] }, [], START_MS, at(3))
  flow.minutes({ good: [3, 4, 5, 6].map(candleOf), refused: [] }, [lost], at(3), at(8))
  flow.close(clock.now())
  flow.show([candleOf(8)], at(8))
  await writer.flush()
  const rows = await readRows(store, feed, { fromMs: START_MS, toMs: at(10) })
  assert.deepEqual(
    rows.map(({ timestamp, buy_volume, num_buys }) => [Date.parse(timestamp), buy_volume, num_buys]),
    [[START_MS, 5, null]],
    'and none is shown over a minute that the venue has no candle of',
  )
  await close()
})

test('a bar that was shown without counts while trades waited is shown with them once none waits', async () => {
  const prover = { trade() {}, judge: () => ({ kind: 'wait' }) as const, forget() {} }
  const { store, writer, flow, follower, close } = await setUp({}, () => prover)
  await flow.start(store.coverage, Number.POSITIVE_INFINITY)
  flow.begin(START_MS)
  for (const side of ['buy', 'sell'] as const)
    flow.trade({ timeMs: START_MS, price: '1', size: '1', side, fills: 1 })
  const shown = async (changedMs: number) => {
    flow.show([candleOf(0)], changedMs)
    await writer.flush()
    const rows = await readRows(store, feed, { fromMs: START_MS, toMs: at(5) })
    return rows.map(({ num_buys, num_sells }) => [num_buys, num_sells])
  }
  follower.isWaiting = true
  assert.deepEqual(await shown(START_MS), [[null, null]])
  assert.deepEqual(await shown(Number.POSITIVE_INFINITY), [[null, null]])
  follower.isWaiting = false
  assert.deepEqual(await shown(Number.POSITIVE_INFINITY), [[1, 1]])
  await close()
})

test('while rows wait for the counts of the past, nothing counts as observed', async () => {
  const prover = { trade() {}, judge: () => ({ kind: 'late', provenMs: 0 }) as const, forget() {} }
  const { clock, store, writer, tracker, flow, close } = await setUp({}, () => prover)
  const observed = async () => {
    tracker.coverTo(at(6))
    await writer.flush()
    const range = { fromMs: START_MS, toMs: at(6) }
    return {
      gaps: (await readGaps(store, feed, range)).map(({ from, to }) => [from, to]),
      rows: (await readRows(store, feed, range)).length,
    }
  }
  tracker.up('minute', START_MS)
  flow.minutes({ good: [0, 1, 2, 3, 4].map(candleOf), refused: [] }, [], START_MS, at(5))
  flow.close(clock.now())
  assert.deepEqual(await observed(), { gaps: [[START_MS, at(6)]], rows: 0 })
  await flow.start(store.coverage, Number.POSITIVE_INFINITY)
  assert.deepEqual(await observed(), { gaps: [], rows: 1 })
  await close()
})

test('stored counts belong to a candle only if every digit of their volumes is the same', async () => {
  const prover = { trade() {}, judge: () => ({ kind: 'late', provenMs: 0 }) as const, forget() {} }
  const { store, close } = await setUp({}, () => prover)
  const minutes = feedOf('flow', 'cexa', 'BTC', '1m')
  const [buyVolume, sellVolume] = ['12345678901.123456789', '12345678901.123456781']
  const row = { ...{ buyVolume, sellVolume, numBuys: 2, numSells: 1 }, vwapBuy: '1', vwapSell: '1' }
  await store.write({ rows: [{ feed: minutes, rows: [{ ...row, time: START_MS, closed: true }] }] })
  const counts = (await readCounts(store.series, minutes, START_MS, at(1))).get(START_MS)
  assert.deepEqual(counts, { buys: 2, sells: 1, buyVolume, sellVolume })
  const candle = (bought: string) => ({
    ...candleOf(0),
    ...{ volume: decimal('24691357802.24691357'), buyVolume: decimal(bought) },
  })
  assert.equal(counts && isCountedIn(counts, candle(buyVolume)), true)
  assert.equal(counts && isCountedIn(counts, candle('12345678901.123456788')), false)
  await close()
})
