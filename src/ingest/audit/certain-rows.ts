/** Stored rows of a feed together with where they must be all there is: observed, and final. */
import type { Dataset, Feed } from '../../core/feed.ts'
import type { ServedRows } from '../../core/rows/schemas.ts'
import { Slice } from '../../kit/time-slices.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import { scanRows } from '../../store/scan-rows.ts'
import type { RowFilters } from '../../store/series.ts'
import type { HistoryRange } from '../../venues/venue.ts'

/** More are not read at once: a day of minutes fits. */
const MAX_ROWS = 3_000

export interface CertainRows<Row> {
  readonly rows: readonly Row[]
  /** Rows of a feed with one row per instant. */
  at(timeMs: number): Row | undefined
  /** Whether all of a range was observed and will not change any more. */
  isCertain(fromMs: number, toMs: number): boolean
}

/** Undefined where something was written between the reads, or there is too much of it. */
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
