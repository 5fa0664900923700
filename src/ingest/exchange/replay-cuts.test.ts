/**
 * Real trades, replayed through the recorder and the store on a manual clock, while sockets are cut at random (mostly
 * across the end of a minute), frames are lost unnoticed and the venue's answers fail. At any time, a covered second
 * has exactly the trades that happened, a closed row is never wrong, and nothing is final that is neither right nor a
 * gap. When the venue answers again, no gap is left. TAPELINE_SEED repeats a run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type ManualClock, manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { type Row, readGaps, readRows, timeOf } from '../../../test/ingest/read-feed.ts'
import {
  type Aggregate,
  aggregated,
  type Candle,
  candlesOf,
  type Fill,
  type Outage,
  recordedFills,
  replayVenue,
  type Tape,
} from '../../../test/ingest/replay-venue.ts'
import { csvRows, withoutFixtures } from '../../../test/venues/fixtures.ts'
import { decimalText, divide, subtract } from '../../core/decimal.ts'
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { createLogger } from '../../kit/log.ts'
import { type Random, seeded } from '../../store/conformance/engine.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import { VENUES } from '../../venues/list.ts'
import type { CandleObservation } from '../../venues/observation.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { recordExchange } from './record-exchange.ts'

const skip = withoutFixtures('binance-futures')
const isLong = process.env.TAPELINE_SOAK !== undefined
const SEED = Number(process.env.TAPELINE_SEED ?? Date.now() % 1e9)
const RUNS = isLong ? 20 : 1
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const STEP_MS = 200
const FIRST_MS = Date.parse('2024-08-08T23:54:17Z')
const END_MS = Date.parse('2024-08-09T00:00:00Z')
/** Long enough for everything that waits, and for two passes of the backfill. */
const SETTLED_MS = END_MS + 15 * MINUTE_MS
const DAY_MS = Date.parse('2024-08-08T00:00:00Z')
const FILES = {
  BTC: 'btcusdt-trade-stream-20240808T235415Z-20240808T235959Z.csv',
  ETH: 'ethusdt-trade-stream-20240808T235415Z-20240808T235959Z.csv',
} as const
type Symbol = keyof typeof FILES

/** Mostly across the end of a minute, from 100 ms to a minute and a half. */
function randomOutages(random: Random): Outage[] {
  return Array.from({ length: 2 + random.below(4) }, (): Outage => {
    const lengthMs = Math.round(100 * 900 ** (random.below(1_000) / 1_000))
    const endsMs = FIRST_MS + 43_000 + random.below(5) * MINUTE_MS
    const overMs = endsMs - random.below(lengthMs + 1)
    const anyMs = FIRST_MS + random.below(END_MS - FIRST_MS)
    const fromMs = Math.max(FIRST_MS + 2_000, random.below(10) < 7 ? overMs : anyMs)
    return { fromMs, toMs: fromMs + lengthMs, kind: random.pick(['cut', 'cut', 'unnoticed', 'dead', 'flap']) }
  })
}

/** The venue's answers fail during some ranges of time, and now and then at random. */
function randomFailures(random: Random, outages: readonly Outage[]): (timeMs: number) => boolean {
  const windows = outages
    .filter(() => random.below(2) === 0)
    .map(({ fromMs }) => ({ fromMs, toMs: fromMs + 1_000 + random.below(240_000) }))
  return (timeMs) =>
    timeMs < END_MS + 2 * MINUTE_MS &&
    (windows.some(({ fromMs, toMs }) => timeMs >= fromMs && timeMs < toMs) || random.below(20) === 0)
}

interface Play {
  readonly name: 'binance-futures' | 'binance-spot'
  readonly random: Random
  readonly tapes: Record<Symbol, Tape>
  readonly outages: readonly Outage[]
  readonly fails: (timeMs: number) => boolean
  /** Ranges without a recorder, which is stopped and started again. */
  readonly stops: readonly { fromMs: number; toMs: number }[]
  readonly spoil?: (kline: CandleObservation, nowMs: number) => CandleObservation
  readonly onLook: (store: EnvironmentStore, clock: ManualClock) => Promise<void>
  /** An additional instant at which the store is checked. */
  readonly lookAtMs?: number
}

/** Returns the counts of the last recorder, and how many refused rows became its dead letters. */
async function play({ name, random, tapes, outages, fails, stops, spoil, onLook, lookAtMs = 0 }: Play) {
  const clock = manualClock(FIRST_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  const log = createLogger({ level: process.env.TAPELINE_LOG_LEVEL ?? 'silent' })
  const { plan, create } = VENUES[name]
  const symbols = Object.keys(tapes) as Symbol[]
  // Seeded, so that the pauses of the recorder are the same in every run.
  const pauses = seeded(1)
  const chance = () => pauses.below(1_000) / 1_000
  const start = () => {
    const venue = replayVenue({
      ...{ describe: create({ clock }).describe, clock, tapes, outages, fails },
      latencyMs: (timeMs) => 50 + ((timeMs * 7_919) % 211),
      ...(spoil === undefined ? {} : { spoil: (kline) => spoil(kline, clock.now()) }),
    })
    const stop = new AbortController()
    const recorder = recordExchange({
      ...{
        plan,
        venue,
        store,
        random: chance,
        clock,
        log,
        symbols,
        backfill: true,
        backfillFromMs: DAY_MS,
      },
    })
    const done = recorder.run(stop.signal).catch((error) => assert.ok(stop.signal.aborted, error))
    return { venue, recorder, stop: () => stop.abort(), done }
  }
  let run: ReturnType<typeof start> | undefined = start()
  try {
    while (clock.now() < SETTLED_MS) {
      const beforeMs = clock.now()
      clock.advance(beforeMs < END_MS + 3 * MINUTE_MS ? STEP_MS : SECOND_MS)
      const isStopped = stops.some(({ fromMs, toMs }) => clock.now() >= fromMs && clock.now() < toMs)
      if (isStopped && run !== undefined) {
        run.stop()
        // The stopping recorder may still sleep on this clock.
        for (let i = 0; i < 50; i++) await turn()
        await run.done
        run = undefined
      } else if (!isStopped && run === undefined) run = start()
      run?.venue.pump()
      for (let i = 0; i < 4; i++) await turn()
      const isDue = beforeMs < lookAtMs && clock.now() >= lookAtMs
      if (random.below(isLong ? 25 : 150) === 0 || isDue) await onLook(store, clock)
    }
    await onLook(store, clock)
    assert.ok(run !== undefined)
    return {
      counts: run.recorder.status().counts,
      letters: run.venue.deadLetters.counts().refused_row ?? 0,
    }
  } finally {
    run?.stop()
    await run?.done
    await store.close()
  }
}

const figures = (candle: Candle) => ({
  ...{
    open: Number(candle.open),
    high: Number(candle.high),
    low: Number(candle.low),
    close: Number(candle.close),
  },
  ...{ volume: Number(decimalText(candle.volume)), num_trades: candle.count },
})
const rowFigures = ({ open, high, low, close, volume, num_trades }: Row) => ({
  ...{ open, high, low, close, volume, num_trades },
})

/** Lists what is wrong with the stored candles of a symbol, judging rows, gaps and finality together. */
async function wrongCandles(
  store: EnvironmentStore,
  feed: ReturnType<typeof candleFeed>,
  lengthMs: number,
  truth: ReadonlyMap<number, Candle>,
  range: { fromMs: number; toMs: number },
): Promise<string[]> {
  const wrong: string[] = []
  const rows = new Map((await readRows(store, feed, range)).map((row) => [timeOf(row), row]))
  const gaps = await readGaps(store, feed, range)
  const [final] = await store.series.finality([feed])
  for (let at = range.fromMs; at < range.toMs; at += lengthMs) {
    const row = rows.get(at)
    const candle = truth.get(at)
    const where = `${feed.symbol} ${feed.interval} ${new Date(at).toISOString()}`
    const isRight =
      row === undefined || candle === undefined
        ? row === undefined && candle === undefined
        : JSON.stringify(rowFigures(row)) === JSON.stringify(figures(candle))
    if (row?.closed === true && !isRight)
      wrong.push(`${where}: closed with ${JSON.stringify(rowFigures(row))}`)
    if (gaps.some((gap) => gap.from < at + lengthMs && gap.to > at)) continue
    // A minute from the stream is open; some of its frames may be lost until the venue's answer closes it.
    if (feed.interval !== '1s' && at + lengthMs > (final?.before ?? 0)) continue
    if (!isRight)
      wrong.push(`${where}: ${row === undefined ? 'no row' : JSON.stringify(rowFigures(row))}, no gap`)
    if (row?.closed === false && at + lengthMs <= (final?.before ?? 0)) wrong.push(`${where}: final and open`)
  }
  return wrong
}

const tapesBySpan = new Map<number, Record<Symbol, Tape>>()
const tapesOf = (withinMs: number): Record<Symbol, Tape> => {
  const known = tapesBySpan.get(withinMs)
  if (known !== undefined) return known
  const tape = (symbol: Symbol) => {
    const fills = recordedFills(FILES[symbol])
    return { fills, aggregates: aggregated(fills, withinMs) }
  }
  const tapes = { BTC: tape('BTC'), ETH: tape('ETH') }
  tapesBySpan.set(withinMs, tapes)
  return tapes
}

test('the replayed truth is what the venue itself has published', { skip }, () => {
  const candles = candlesOf(recordedFills(FILES.BTC), MINUTE_MS)
  const published = csvRows('binance-futures', 'btcusdt-klines-1m-20240808T2350Z.csv')
  const whole = published.filter((row) => Number(row.open_time) > FIRST_MS && Number(row.open_time) < END_MS)
  assert.equal(whole.length, 5)
  for (const row of whole) {
    const candle = candles.get(Number(row.open_time))
    assert.ok(candle !== undefined)
    const own = [candle.open, candle.high, candle.low, candle.close, decimalText(candle.volume), candle.count]
    assert.deepEqual(
      own.map(Number),
      [row.open, row.high, row.low, row.close, row.volume, row.count].map(Number),
    )
  }
})

for (let i = 0; i < RUNS; i++) {
  const seed = SEED + i
  test(`futures: every second is right or a gap, and repaired in the end (seed ${seed})`, {
    skip,
  }, async () => {
    const random = seeded(seed)
    const tapes = tapesOf(100)
    const outages = randomOutages(random)
    const stopMs = FIRST_MS + 20_000 + random.below(5 * MINUTE_MS)
    const stops = random.below(2) === 0 ? [] : [{ fromMs: stopMs, toMs: stopMs + 500 + random.below(70_000) }]
    const seconds = {
      BTC: candlesOf(tapes.BTC.aggregates, SECOND_MS),
      ETH: candlesOf(tapes.ETH.aggregates, SECOND_MS),
    }
    const minutes = { BTC: candlesOf(tapes.BTC.fills, MINUTE_MS), ETH: candlesOf(tapes.ETH.fills, MINUTE_MS) }
    const setup = JSON.stringify({ outages, stops })
    let looks = 0
    const { counts } = await play({
      ...{ name: 'binance-futures', random, tapes, outages, stops, fails: randomFailures(random, outages) },
      async onLook(store, clock) {
        looks += 1
        const isSettled = clock.now() >= SETTLED_MS
        for (const symbol of ['BTC', 'ETH'] as const) {
          const all: [CandleInterval, number, ReadonlyMap<number, Candle>][] = [
            ['1s', SECOND_MS, seconds[symbol]],
            ['1m', MINUTE_MS, minutes[symbol]],
          ]
          for (const [interval, lengthMs, truth] of all) {
            const feed = candleFeed('cexa_futures', symbol, interval)
            const toMs = Math.min(END_MS, Math.floor((clock.now() - 2_000) / lengthMs) * lengthMs)
            const range = { fromMs: Math.ceil(FIRST_MS / lengthMs) * lengthMs, toMs }
            assert.deepEqual(await wrongCandles(store, feed, lengthMs, truth, range), [], setup)
            if (!isSettled) continue
            assert.deepEqual(await readGaps(store, feed, range), [], `${symbol} ${interval}: ${setup}`)
            const rows = await readRows(store, feed, range)
            assert.ok(
              rows.every((row) => row.closed === true),
              setup,
            )
            assert.ok(((await store.series.finality([feed]))[0]?.before ?? 0) >= END_MS, setup)
          }
        }
      },
    })
    assert.ok(looks > 1)
    assert.deepEqual([counts.refused, counts.emptyTrades], [0, 0])
  })
}

/** Empty fills at random places, with and without a price, as the exchange publishes them. */
function withEmptyFills(fills: readonly Fill[], random: Random, count: number): Fill[] {
  const places = new Set(Array.from({ length: count }, () => 1 + random.below(fills.length - 1)))
  let id = 0
  return fills.flatMap((fill, place) => {
    id += 1
    const own = { ...fill, id }
    if (!places.has(place)) return [own]
    id += 1
    return [
      { ...fill, id: id - 1, size: '0.000', price: random.below(2) === 0 ? '0' : fill.price },
      { ...own, id },
    ]
  })
}

const SPOILT = [
  (kline: CandleObservation) => ({ ...kline, low: '0' }),
  (kline: CandleObservation) => ({ ...kline, high: '1' }),
  (kline: CandleObservation) => ({ ...kline, volume: '-1' }),
  (kline: CandleObservation) => ({ ...kline, takerBuyVolume: '900000000' }),
] as const

for (let i = 0; i < RUNS; i++) {
  const seed = SEED + 2_000 + i
  test(`futures: empty fills are left out, and candles that cannot be served are gaps until they can (seed ${seed})`, {
    skip,
  }, async () => {
    const random = seeded(seed)
    const empty = 1 + random.below(12)
    const tape = (symbol: Symbol): Tape => {
      const fills = withEmptyFills(recordedFills(FILES[symbol]), random, empty)
      return { fills, aggregates: aggregated(fills, 100) }
    }
    const tapes = { BTC: tape('BTC'), ETH: tape('ETH') }
    const bad = { BTC: random.below(5), ETH: random.below(5) }
    const spoilt = random.pick(SPOILT)
    // The recorder waits six minutes for a better answer.
    const goodMs = END_MS + 7 * MINUTE_MS
    const badMs = (symbol: Symbol) => END_MS - (1 + bad[symbol]) * MINUTE_MS
    let hadGap = false
    const { counts, letters } = await play({
      ...{ name: 'binance-futures', random, tapes, outages: [], stops: [], fails: () => false },
      lookAtMs: goodMs - 5_000,
      spoil: (kline, nowMs) =>
        nowMs < goodMs && kline.openTimeMs === badMs(kline.symbol as Symbol) ? spoilt(kline) : kline,
      async onLook(store, clock) {
        const isSettled = clock.now() >= SETTLED_MS
        for (const symbol of ['BTC', 'ETH'] as const) {
          for (const interval of ['1s', '1m', '5m'] as const) {
            const lengthMs = INTERVAL_MS[interval]
            const { fills, aggregates } = tapes[symbol]
            const truth = candlesOf(interval === '1s' ? aggregates : fills, lengthMs)
            const feed = candleFeed('cexa_futures', symbol, interval)
            const toMs = Math.min(END_MS, Math.floor((clock.now() - 2_000) / lengthMs) * lengthMs)
            const range = { fromMs: Math.ceil(FIRST_MS / lengthMs) * lengthMs, toMs }
            const setup = JSON.stringify({ bad, spoilt: String(spoilt) })
            assert.deepEqual(await wrongCandles(store, feed, lengthMs, truth, range), [], setup)
            const gaps = await readGaps(store, feed, range)
            if (isSettled) assert.deepEqual(gaps, [], `${symbol} ${interval} ${setup}`)
            if (interval === '1s' || clock.now() < END_MS + 10_000 || clock.now() >= goodMs) continue
            // The candle itself, and the longer one that contains it.
            const fromMs = interval === '1m' ? badMs(symbol) : END_MS - 5 * MINUTE_MS
            const [final] = await store.series.finality([feed])
            const isWaiting = clock.now() < goodMs - 30_000 && (final?.before ?? 0) <= fromMs
            if (isWaiting && gaps.length === 0) continue
            hadGap = true
            assert.deepEqual(
              gaps.map(({ from, to, reason }) => ({ from, to, reason })),
              [{ from: fromMs, to: fromMs + lengthMs, reason: 'not_observed' }],
              `${symbol} ${interval} ${setup}`,
            )
          }
        }
      },
    })
    assert.ok(hadGap)
    // An empty fill with a price may have been combined with the fills after it.
    const alone = [...tapes.BTC.aggregates, ...tapes.ETH.aggregates].filter(({ size }) => Number(size) === 0)
    assert.ok((counts.emptyTrades ?? 0) >= alone.length, `${counts.emptyTrades} of ${alone.length}`)
    assert.ok((counts.refused ?? 0) > 0 && letters > 0)
  })
}

/** Counts and volumes of a bucket, as they really happened. */
function flowOf(trades: readonly Aggregate[], openMs: number, lengthMs: number) {
  const inside = trades.filter(({ timeMs }) => timeMs >= openMs && timeMs < openMs + lengthMs)
  const candle = candlesOf(inside, lengthMs).get(openMs)
  assert.ok(candle !== undefined)
  const bought = Number(decimalText(candle.buyVolume))
  const vwap = divide(candle.buyQuote, candle.buyVolume, 8)
  return {
    buy_volume: bought,
    sell_volume: Number(decimalText(subtract(candle.volume, candle.buyVolume))),
    num_buys: inside.filter(({ side }) => side === 'buy').length,
    num_sells: inside.filter(({ side }) => side === 'sell').length,
    vwap_buy: vwap === undefined ? null : Number(decimalText(vwap)),
  }
}

for (let i = 0; i < RUNS; i++) {
  const seed = SEED + 1_000 + i
  test(`spot: flow has all buys and sells of a bucket, or null where answers failed (seed ${seed})`, {
    skip,
  }, async () => {
    const random = seeded(seed)
    const tapes = tapesOf(0)
    const outages = randomOutages(random)
    const isFailing = random.below(2) === 0
    const fails = isFailing ? randomFailures(random, outages) : () => false
    const setup = JSON.stringify({ outages, isFailing })
    await play({
      ...{ name: 'binance-spot', random, tapes, outages, stops: [], fails },
      async onLook(store, clock) {
        if (clock.now() < SETTLED_MS) return
        for (const symbol of ['BTC', 'ETH'] as const) {
          const openMs = END_MS - 5 * MINUTE_MS
          const feed = feedOf('flow', 'cexa', symbol as AssetSymbol, '5m')
          const range = { fromMs: openMs, toMs: END_MS }
          assert.deepEqual(await readGaps(store, feed, range), [], setup)
          const [row] = await readRows(store, feed, range)
          assert.ok(row !== undefined, setup)
          const { buy_volume, sell_volume, num_buys, num_sells, vwap_buy } = row
          const truth = flowOf(tapes[symbol].aggregates, openMs, 5 * MINUTE_MS)
          const own = { buy_volume, sell_volume, num_buys, num_sells, vwap_buy }
          const uncounted = { ...truth, num_buys: null, num_sells: null }
          if (isFailing && num_buys === null) assert.deepEqual(own, uncounted, setup)
          else assert.deepEqual(own, truth, setup)
        }
      },
    })
  })
}
