/**
 * The self-checks of prediction markets, one instrument at a time.
 *
 *   coverage   volumes of 5m candles add up to those of the longer ones, trades to the volume of a 5m candle
 *   venue      the trades of a market are requested again: each of them must be stored
 *
 * Only what the venue has and we lack counts: its lists may be cut, its candles may count things that are not trades,
 * and one trade of the stream may be several in a list (deduplicate-trades.ts). Prices are not compared, because a
 * stored candle does not show whether they come from trades or from midpoints.
 */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { CandleRow, TradeRow } from '../../core/rows/schemas.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import { scanRows } from '../../store/scan-rows.ts'
import type { TradeObservation } from '../../venues/observation.ts'
import type { PredictionPlan } from '../../venues/plan.ts'
import type { HistoryRange, Venue } from '../../venues/venue.ts'
import { marketTradeRow } from '../prediction/record-market.ts'
import { checkMarketTrade } from '../shared/check-trade.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../shared/feeds.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import type { AuditCheck, AuditDifference } from './audit.ts'
import { readCertain } from './certain-rows.ts'
import { drawRange, pick } from './draw.ts'
import { createSuspicions, type Suspicion, type WrongRow } from './suspicions.ts'

const BASE = '5m' satisfies CandleInterval
const HOUR_MS = 3_600_000
/** The times of a list may be whole seconds where the stream had milliseconds. */
const BORDER_MS = 2_000
/** Trades of one transaction may lie this far apart. */
const AROUND_MS = 10_000
/** Tolerance for sums of numbers as they are served. */
const ROUNDING = 1e-6
const LONGER = COARSE_INTERVALS.filter((interval) => interval !== BASE)

export interface PredictionAuditParts {
  readonly plan: PredictionPlan
  readonly venue: Pick<Venue, 'history'>
  readonly symbols: readonly AssetSymbol[]
  readonly store: Pick<EnvironmentStore, 'series' | 'coverage'>
  readonly rows: Pick<RowWriter, 'put'>
  readonly tracker: Pick<CoverageTracker, 'lost'>
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal
}

interface Instrument {
  readonly symbol: AssetSymbol
  readonly marketId: string
  readonly instrument: string
  /** Time of the row that was drawn. */
  readonly timeMs: number
}

export function auditPredictions(parts: PredictionAuditParts): AuditCheck[] {
  const { plan, symbols, store, clock, random } = parts
  const ofRows = createSuspicions(clock)
  const ofVenue = createSuspicions(clock)
  const draw = { series: store.series, clock, random }

  /** Draws a random 5m candle or a random trade; returns its instrument. */
  async function drawInstrument(dataset: 'candles' | 'trades'): Promise<Instrument | undefined> {
    const symbol = pick(symbols, random)
    if (symbol === undefined) return undefined
    const feed = feedOf(dataset, plan.source, symbol, dataset === 'candles' ? BASE : '')
    const range = await drawRange(draw, feed, INTERVAL_MS[BASE], INTERVAL_MS[BASE])
    if (range === undefined) return undefined
    const found: (CandleRow | TradeRow)[] = []
    for await (const row of scanRows(store.series, feed, { from: range.fromMs, to: range.toMs }))
      found.push(row)
    const row = pick(found, random)
    if (row?.market_id == null) return undefined
    const { market_id: marketId, token_id: tokenId, timestamp } = row
    return { symbol, marketId, instrument: tokenId ?? marketId, timeMs: Date.parse(timestamp) }
  }

  function suspectTrades(found: Instrument, range: HistoryRange): Suspicion {
    return {
      key: `${found.marketId} ${range.fromMs}`,
      judge: () => judgeTrades(parts, found, range),
    }
  }

  async function compareRows(): Promise<readonly AuditDifference[] | null> {
    const found = await drawInstrument('candles')
    const interval = pick(LONGER, random)
    if (found === undefined || interval === undefined) return null
    const compared = await compareVolumes(parts, found, interval)
    const lacking = await lackingTrades(parts, found)
    for (const range of lacking ?? []) ofRows.add(suspectTrades(found, range))
    return compared ?? (lacking === undefined ? null : [])
  }

  async function askVenue(): Promise<readonly AuditDifference[] | null> {
    const found = await drawInstrument('trades')
    if (found === undefined) return null
    const fromMs = candleStart(found.timeMs, '1h')
    const range = { fromMs, toMs: fromMs + HOUR_MS }
    const wrong = await judgeTrades(parts, found, range)
    if (wrong === undefined) return null
    if (wrong.length > 0) ofVenue.add(suspectTrades(found, range))
    return []
  }

  return [
    {
      ...{ kind: 'coverage', weight: 2, isDue: ofRows.isDue },
      run: () => (ofRows.isDue(clock.now()) ? ofRows.resolve() : compareRows()),
    },
    {
      ...{ kind: 'venue', weight: 1, isDue: ofVenue.isDue },
      run: () => (ofVenue.isDue(clock.now()) ? ofVenue.resolve() : askVenue()),
    },
  ]
}

/** Compares a longer candle with its 5m candles; the trades show which of them is wrong. Null if nothing is certain. */
async function compareVolumes(
  parts: PredictionAuditParts,
  { symbol, instrument, timeMs }: Instrument,
  interval: CandleInterval,
): Promise<AuditDifference[] | null> {
  const { plan, store, tracker } = parts
  const fromMs = candleStart(timeMs, interval)
  const range = { fromMs, toMs: fromMs + INTERVAL_MS[interval] }
  const filters = { instruments: [instrument] }
  const feeds = ([BASE, interval] as const).map((each) => candleFeed(plan.source, symbol, each))
  const [fine, coarse] = await Promise.all(feeds.map((feed) => readCertain(store, feed, range, filters)))
  if (fine?.isCertain(range.fromMs, range.toMs) !== true) return null
  if (coarse?.isCertain(range.fromMs, range.toMs) !== true) return null
  const sum = volumeOf(fine.rows)
  const whole = volumeOf(coarse.rows)
  if (isSame(sum, whole)) return []
  const trades = await readCertain(store, feedOf('trades', plan.source, symbol), range, filters)
  const known = trades?.isCertain(range.fromMs, range.toMs) === true ? trades.rows : undefined
  if (known !== undefined && isSame(sum + outsideCandles(plan, fine.rows, known), whole)) return []
  const traded = known === undefined ? Number.NaN : tradedOf(plan, known)
  const wrong = isSame(traded, sum) ? feeds.slice(1) : isSame(traded, whole) ? feeds.slice(0, 1) : feeds
  return wrong.map((feed) => {
    tracker.lost(feed, range.fromMs, range.toMs, 'not_observed')
    const what = `candles of ${BASE} and ${interval} of ${instrument} have different volumes`
    return { what, action: 'gap', feed, ...range }
  })
}

/**
 * Block trades of a contract set no price: in five minutes without a price they are in no 5m candle, but in the longer
 * ones.
 */
function outsideCandles(
  plan: PredictionPlan,
  candles: readonly CandleRow[],
  trades: readonly TradeRow[],
): number {
  if (plan.hasTokens) return 0
  const starts = new Set(candles.map(({ timestamp }) => Date.parse(timestamp)))
  return tradedOf(
    plan,
    trades.filter(({ timestamp }) => !starts.has(candleStart(Date.parse(timestamp), BASE))),
  )
}

/** The time of a 5m candle with more volume than its stored trades; undefined if nothing is certain. */
async function lackingTrades(
  { plan, store }: PredictionAuditParts,
  { symbol, instrument, timeMs }: Instrument,
): Promise<HistoryRange[] | undefined> {
  const fromMs = candleStart(timeMs, BASE)
  const range = { fromMs, toMs: fromMs + INTERVAL_MS[BASE] }
  const filters = { instruments: [instrument] }
  const candles = await readCertain(store, candleFeed(plan.source, symbol, BASE), range, filters)
  const trades = await readCertain(store, feedOf('trades', plan.source, symbol), range, filters)
  if (candles?.isCertain(range.fromMs, range.toMs) !== true) return undefined
  if (trades?.isCertain(range.fromMs, range.toMs) !== true) return undefined
  const [traded, volume] = [tradedOf(plan, trades.rows), volumeOf(candles.rows)]
  return traded < volume && !isSame(traded, volume) ? [range] : []
}

/** Trades that the venue has in a time that is certain, but that are not stored. */
async function judgeTrades(
  { plan, venue, store, rows, tracker, signal }: PredictionAuditParts,
  { symbol, marketId }: Instrument,
  range: HistoryRange,
): Promise<WrongRow[] | undefined> {
  const feed = feedOf('trades', plan.source, symbol)
  const around = { fromMs: range.fromMs - AROUND_MS, toMs: range.toMs + AROUND_MS }
  const listed: TradeObservation[] = []
  const request = { topic: 'trades', symbol, market: marketId, range: around } as const
  for await (const { observations } of venue.history(request, { signal }))
    for (const row of observations) if (row.kind === 'trade') listed.push(row)
  const instruments = [...new Set([marketId, ...listed.map(({ instrument }) => instrument)])]
  const stored = await readCertain(store, feed, around, { instruments })
  if (stored === undefined) return undefined
  const base = candleFeed(plan.source, symbol, BASE)
  const whole = { fromMs: candleStart(range.fromMs, BASE), toMs: range.toMs }
  const candles = await readCertain(store, base, whole, { instruments })
  if (candles === undefined) return undefined
  /** Whether the trade's candle has more volume than the stored trades, so that the trade may already be part of it. */
  const mayBeInCandle = ({ instrument, venueTimeMs, price, size }: TradeObservation) => {
    const isBeside = (row: CandleRow | TradeRow) =>
      (row.token_id ?? row.market_id) === instrument &&
      candleStart(Date.parse(row.timestamp), BASE) === candleStart(venueTimeMs, BASE)
    const beside = stored.rows.filter(isBeside)
    const traded = tradedOf(plan, [...beside, { price: Number(price), size: Number(size) }])
    const volume = volumeOf(candles.rows.filter(isBeside))
    return volume > traded || isSame(volume, traded)
  }
  const known = new Set(stored.rows.map(({ trade_id: id }) => nameOf(plan, id)))
  const isInside = ({ venueTimeMs: atMs }: TradeObservation) =>
    atMs >= range.fromMs + BORDER_MS && atMs < range.toMs - BORDER_MS
  return listed
    .filter((trade) => isInside(trade) && checkMarketTrade(trade) === 'good')
    .filter(({ id, venueTimeMs: atMs }) => !known.has(nameOf(plan, id)) && stored.isCertain(atMs, atMs + 1))
    .map((trade): WrongRow => {
      const { venueTimeMs: fromMs, id, price, size } = trade
      return {
        key: id,
        truth: `${price} ${size}`,
        correct() {
          rows.put(feed, [marketTradeRow(trade, marketId)])
          if (!mayBeInCandle(trade))
            for (const interval of COARSE_INTERVALS) {
              const startMs = candleStart(fromMs, interval)
              const longer = candleFeed(plan.source, symbol, interval)
              tracker.lost(longer, startMs, startMs + INTERVAL_MS[interval], 'not_observed')
            }
          const what = `a trade of ${marketId} was missing that the venue has`
          return { what, action: 'corrected', feed, fromMs, toMs: fromMs + 1 }
        },
      }
    })
}

/** If a venue gives trades no id, ours names the transaction and the place in it, and the place may differ. */
const nameOf = ({ hasTokens }: PredictionPlan, id: string) =>
  hasTokens ? id.slice(0, id.lastIndexOf('-')) : id

const volumeOf = (rows: readonly CandleRow[]) => rows.reduce((sum, { volume }) => sum + (volume ?? 0), 0)
const tradedOf = (plan: PredictionPlan, rows: readonly Pick<TradeRow, 'price' | 'size'>[]) =>
  rows.reduce((sum, { price, size }) => sum + (plan.volume === 'money' ? price * size : size), 0)
const isSame = (a: number, b: number) => Math.abs(a - b) <= ROUNDING * Math.max(a, b, ROUNDING)
