/**
 * Open interest of past days, from the venue's own candles, each of which has the figure at its end.
 *
 *   candles of a contract ──▶ its last figure at or before each grid point of its window ──▶ row of the contract
 *   all contracts         ──▶ their sum at each grid point where every figure is known
 *
 * Recorded rows are not replaced. Before its first candle a contract has no open interest, provided that its candles
 * were requested from its start.
 */
import { add, type Decimal, decimal, decimalText, ZERO } from '../../core/decimal.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { OpenInterestInput } from '../../core/rows/open-interest.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { scanExactRows } from '../../store/scan-rows.ts'
import type { SeriesStore } from '../../store/series.ts'
import type { ContractCandleObservation } from '../../venues/observation.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { COARSE_INTERVALS, feedOf } from '../shared/feeds.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { BASE_INTERVAL, type PredictionPlan } from './market-feeds.ts'

const GRID_MS = INTERVAL_MS[BASE_INTERVAL]

export type PastOpenInterest = ReturnType<typeof pastOpenInterest>

export function pastOpenInterest(options: {
  plan: PredictionPlan
  symbol: AssetSymbol
  series: SeriesStore
  writer: RowWriter
  range: HistoryRange
}) {
  const { plan, symbol, series, writer, range } = options
  const sums = new Map<number, Decimal>()
  const unknown = new Set<number>()
  const feed = (interval: (typeof COARSE_INTERVALS)[number]) =>
    feedOf('open_interest', plan.source, symbol, interval)

  async function stored(instrument: string): Promise<Map<number, string>> {
    const known = new Map<number, string>()
    const between = { from: range.fromMs, to: range.toMs }
    for await (const row of scanExactRows(series, feed(BASE_INTERVAL), between, {
      instruments: [instrument],
    }))
      known.set(Date.parse(row.timestamp), row.open_interest)
    return known
  }

  function put(row: OpenInterestInput): void {
    for (const interval of COARSE_INTERVALS)
      if (row.time % INTERVAL_MS[interval] === 0) writer.put(feed(interval), [row])
  }

  return {
    /** Takes all candles of a contract, from its start or from a later instant on. */
    async contract(
      { marketId, startTime, endTime }: MarketInput,
      candles: readonly ContractCandleObservation[],
      requestedFromMs: number,
    ) {
      const known = await stored(marketId)
      const figures = candles.filter((candle) => candle.openInterest !== null)
      const startMs = startTime ?? 0
      let next = 0
      let figure = requestedFromMs <= startMs ? '0' : undefined
      const firstMs = Math.ceil(Math.max(range.fromMs, startMs) / GRID_MS) * GRID_MS
      for (let time = firstMs; time < Math.min(range.toMs, endTime ?? 0); time += GRID_MS) {
        for (; (figures[next]?.venueTimeMs ?? Number.POSITIVE_INFINITY) <= time; next++)
          figure = figures[next]?.openInterest ?? figure
        const openInterest = known.get(time) ?? figure
        if (openInterest === undefined) {
          unknown.add(time)
          continue
        }
        sums.set(time, add(sums.get(time) ?? ZERO, decimal(openInterest)))
        if (!known.has(time)) put({ time, openInterest, openInterestUsd: openInterest, marketId })
      }
    },
    /** Writes the sums; returns the ranges without a sum, ascending. */
    async sum(failed: readonly HistoryRange[]): Promise<HistoryRange[]> {
      const known = await stored('')
      const isIn = (time: number, { fromMs, toMs }: HistoryRange) => time >= fromMs && time < toMs
      for (const [time, total] of sums) {
        if (known.has(time) || unknown.has(time) || failed.some((each) => isIn(time, each))) continue
        const openInterest = decimalText(total)
        put({ time, openInterest, openInterestUsd: openInterest })
      }
      const lacking = [...unknown].map((time) => ({ fromMs: time, toMs: time + GRID_MS }))
      return [...failed, ...lacking].sort((a, b) => a.fromMs - b.fromMs)
    },
  }
}
