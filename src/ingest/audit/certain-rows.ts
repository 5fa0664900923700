/** Stored rows of a feed, and the ranges in which they must be complete because these were observed and are final. */
import type { Dataset, Feed } from '../../core/feed.ts'
import type { ServedRows } from '../../core/rows/schemas.ts'
import { Slice } from '../../kit/time-slices.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import { scanRows } from '../../store/scan-rows.ts'
import type { RowFilters } from '../../store/series.ts'
import type { HistoryRange } from '../../venues/venue.ts'

/** The most rows that are read at once; a day of minutes fits. */
const MAX_ROWS = 3_000

export interface CertainRows<Row> {
  readonly rows: readonly Row[]
  /** For feeds with one row per instant. */
  at(timeMs: number): Row | undefined
  /** Whether all of a range was observed and will not change any more. */
  isCertain(fromMs: number, toMs: number): boolean
}

/** Undefined if something was written between the reads, or there are too many rows. */
export async function readCertain<D extends Dataset>(
  { series, coverage }: Pick<EnvironmentStore, 'series' | 'coverage'>,
  feed: Feed<D>,
  { fromMs, toMs }: HistoryRange,
  filters: RowFilters = {},
): Promise<CertainRows<ServedRows[D]> | undefined> {
  const [before] = await series.finality([feed])
  const { observed } = await coverage.read([feed], fromMs, toMs)
  const rows: ServedRows[D][] = []
  const byTime = new Map<number, ServedRows[D]>()
  const slice = new Slice()
  for await (const row of scanRows(series, feed, { from: fromMs, to: toMs }, filters)) {
    rows.push(row)
    byTime.set(Date.parse(row.timestamp), row)
    if (rows.length > MAX_ROWS) return undefined
    if (slice.isOver) await slice.next()
  }
  const [after] = await series.finality([feed])
  if (before === undefined || after?.epoch !== before.epoch) return undefined
  return {
    rows,
    at: (timeMs) => byTime.get(timeMs),
    isCertain: (from, to) =>
      to <= before.before && observed.some((span) => span.from <= from && to <= span.to),
  }
}
