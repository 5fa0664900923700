/**
 * Compares stored candles with each other: where finer and longer ones are both certain, the finer ones must add up to
 * the longer one, and a venue that publishes every candle must have every finer one. A contradiction does not prove
 * which of the rows is wrong; the venue decides.
 */
import { decimal } from '../../core/decimal.ts'
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { type Candle, joinCandles } from '../exchange/candle.ts'
import type { SymbolParts } from '../exchange/symbol-parts.ts'
import { candleFeed } from '../shared/feeds.ts'
import type { AuditDifference } from './audit.ts'
import { readCertain } from './certain-rows.ts'
import { isRolledUp } from './venue-candles.ts'

export interface IntervalPair {
  readonly fine: CandleInterval
  readonly coarse: CandleInterval
}

export const PAIRS: readonly IntervalPair[] = [
  { fine: '1m', coarse: '5m' },
  { fine: '5m', coarse: '15m' },
  { fine: '15m', coarse: '1h' },
  { fine: '1h', coarse: '4h' },
  { fine: '4h', coarse: '1d' },
]

/** Tolerance for sums of numbers as they are served; the rows themselves were summed exactly. */
const ROUNDING = 1e-9

interface Contradiction extends HistoryRange {
  /** For contradictions that no venue can decide: neither row is served as complete. */
  giveUp?(): readonly AuditDifference[]
}

/** Longer candles that their finer ones contradict; undefined if nothing is certain. */
export async function compareIntervals(
  store: Pick<EnvironmentStore, 'series' | 'coverage'>,
  parts: SymbolParts,
  { fine, coarse }: IntervalPair,
  range: HistoryRange,
): Promise<Contradiction[] | undefined> {
  const { plan, symbol, tracker } = parts
  const feeds = [fine, coarse].map((interval) => candleFeed(plan.source, symbol, interval))
  const [fineFeed, coarseFeed] = feeds
  if (fineFeed === undefined || coarseFeed === undefined) return undefined
  const finer = await readCertain(store, fineFeed, range)
  const longer = await readCertain(store, coarseFeed, range)
  if (finer === undefined || longer === undefined) return undefined
  const lengthMs = INTERVAL_MS[coarse]
  const found: Contradiction[] = []
  let examined = 0
  for (let fromMs = range.fromMs; fromMs + lengthMs <= range.toMs; fromMs += lengthMs) {
    const toMs = fromMs + lengthMs
    if (!finer.isCertain(fromMs, toMs) || !longer.isCertain(fromMs, toMs)) continue
    examined += 1
    const rows: CandleRow[] = []
    for (let at = fromMs; at < toMs; at += INTERVAL_MS[fine]) {
      const row = finer.at(at)
      if (row !== undefined) rows.push(row)
    }
    // If the venue does not publish seconds, they are built from trades, and a quiet second has no row.
    const isEvery = plan.hasQuietCandles && (fine !== '1s' || plan.secondsFrom === 'candles')
    const isWhole = !isEvery || rows.length === lengthMs / INTERVAL_MS[fine]
    if (isWhole && agrees(joined(rows), longer.at(fromMs), isEvery)) continue
    found.push({
      ...{ fromMs, toMs },
      ...(isRolledUp(parts) && fine !== '1s'
        ? {
            giveUp: () =>
              feeds.map((feed): AuditDifference => {
                tracker.lost(feed, fromMs, toMs, 'not_observed')
                const what = `candles of ${fine} and ${coarse} contradict each other, and the venue does not answer`
                return { what, action: 'gap', feed, fromMs, toMs }
              }),
          }
        : {}),
    })
  }
  return examined === 0 ? undefined : found
}

function joined(rows: readonly CandleRow[]): Candle | undefined {
  const [first, ...rest] = rows.map(candleOfRow)
  return first === undefined ? undefined : rest.reduce(joinCandles, first)
}

/** Has only the figures that rows have. */
function candleOfRow(row: CandleRow): Candle {
  const { open, high, low, close, volume, num_trades: count } = row
  return {
    openMs: Date.parse(row.timestamp),
    ...{ open: String(open), high: String(high), low: String(low), close: String(close) },
    volume: decimal(volume ?? 0),
    count: count ?? 0,
    ...{ quote: null, buyVolume: null, buyQuote: null, buys: null, sells: null },
  }
}

function agrees(made: Candle | undefined, row: CandleRow | undefined, isEvery: boolean): boolean {
  if (row === undefined) return made === undefined || (!isEvery && made.volume.units === 0n)
  const volume = row.volume ?? 0
  if (made === undefined) return volume === 0
  const sum = Number(made.volume.units) / 10 ** made.volume.scale
  if (Math.abs(sum - volume) > ROUNDING * Math.max(sum, volume)) return false
  if (row.num_trades !== null && row.num_trades !== made.count) return false
  // Without a trade, the venue repeats a price of its own choice.
  if (volume === 0) return true
  return (
    Number(made.open) === row.open &&
    Number(made.high) === row.high &&
    Number(made.low) === row.low &&
    Number(made.close) === row.close
  )
}
