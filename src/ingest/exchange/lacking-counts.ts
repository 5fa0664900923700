/**
 * Rows of flow that lack their counts.
 *
 *   a minute's trades may still be requested    ──▶ the rows around it are open, and a gap, until the backfill has
 *                                                   counted them
 *   they cannot be: too long ago, no longer provided, or other trades than the candle's
 *                                               ──▶ the rows are complete without counts
 *   the row was final and complete without counts ──▶ stays so, because pages with it may be sealed
 */
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import type { CoverageStore } from '../../store/coverage.ts'
import { scanRows } from '../../store/scan-rows.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { COARSE_INTERVALS, feedOf } from '../shared/feeds.ts'
import type { RolledCandle } from './roll-up-candles.ts'
import type { SymbolParts } from './symbol-parts.ts'

/** From when on the backfill requests trades for counts; infinite if it never does. */
export function countsFrom({ plan, clock }: Pick<SymbolParts, 'plan' | 'clock'>, fromMs?: number): number {
  const step = plan.backfill.find(({ kind }) => kind === 'counts')
  if (step === undefined) return Number.POSITIVE_INFINITY
  return Math.max(clock.now() - step.backMs, fromMs ?? Number.NEGATIVE_INFINITY)
}

/** Rows of flow that are final and complete without counts. */
export type SealedWithout = ReadonlySet<string>

const nameOf = (interval: CandleInterval, openMs: number) => `${interval} ${openMs}`

export async function readSealedWithout(
  { series, plan, symbol }: Pick<SymbolParts, 'series' | 'plan' | 'symbol'>,
  coverage: CoverageStore,
  { fromMs, toMs }: HistoryRange,
): Promise<SealedWithout> {
  const sealed = new Set<string>()
  for (const interval of COARSE_INTERVALS) {
    const feed = feedOf('flow', plan.source, symbol, interval)
    const [final] = await series.finality([feed])
    const range = { from: fromMs, to: Math.min(toMs, Math.max(fromMs, final?.before ?? 0)) }
    if (range.from >= range.to) continue
    const { gaps } = await coverage.read([feed], range.from, range.to)
    for await (const row of scanRows(series, feed, range)) {
      const openMs = Date.parse(row.timestamp)
      if (row.num_buys === null && !gaps.some(({ from, to }) => from <= openMs && to > openMs))
        sealed.add(nameOf(interval, openMs))
    }
  }
  return sealed
}

interface CountedRows {
  /** Rows that are complete: with their counts, or without counts that will never be known. */
  readonly complete: readonly RolledCandle[]
  /** Rows whose counts the backfill still requests. */
  readonly lacking: readonly RolledCandle[]
}

/** `isHopeless`: whether a range has a minute whose trades cannot be requested. */
export function apartByCounts(
  rows: readonly RolledCandle[],
  sealed: SealedWithout,
  isHopeless: (range: HistoryRange) => boolean,
): CountedRows {
  const complete: RolledCandle[] = []
  const lacking: RolledCandle[] = []
  for (const row of rows) {
    const { interval, candle } = row
    if (sealed.has(nameOf(interval, candle.openMs)))
      complete.push({ interval, candle: { ...candle, buys: null, sells: null } })
    else if (candle.buys === null && !isHopeless(rangeOf(row))) lacking.push(row)
    else complete.push(row)
  }
  return { complete, lacking }
}

/** Records gaps over rows, to be repaired by the backfill; over the whole of each, because it will be written again. */
export function loseLacking(
  { plan, symbol, tracker }: Pick<SymbolParts, 'plan' | 'symbol' | 'tracker'>,
  lacking: readonly RolledCandle[],
): void {
  for (const row of lacking) {
    const { fromMs, toMs } = rangeOf(row)
    tracker.lost(feedOf('flow', plan.source, symbol, row.interval), fromMs, toMs, 'not_observed')
  }
}

const rangeOf = ({ interval, candle: { openMs } }: RolledCandle): HistoryRange => ({
  fromMs: openMs,
  toMs: openMs + INTERVAL_MS[interval],
})
