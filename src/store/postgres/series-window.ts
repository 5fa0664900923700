/**
 * The first try of a page over a long time. A statement opens every partition of its range before it reads a row, and a
 * page that is full after a month needs one or two of them. If the page is not full there, all of the range is read.
 */
import { INTERVAL_MS } from '../../core/interval.ts'
import { DAY_MS } from '../../core/time.ts'
import { endOf } from '../order/arms.ts'
import type { SeriesQuery } from '../series.ts'

const WINDOW_MS = 32 * DAY_MS

/** The times of the first and the last row of the feeds, as they were last read: rows may have been added since. */
export interface KnownTimes {
  readonly first: number
  readonly last: number
}

/** Undefined where nothing is won. A page of it that has more rows is the page of the query. */
export function firstWindow<Q extends SeriesQuery>(query: Q, known: KnownTimes | undefined): Q | undefined {
  const { range, position, order, limit, filters = {} } = query
  const isFiltered = Object.values(filters).some((each) => each !== undefined)
  if (known === undefined || isFiltered || endOf(range) - range.from <= 2 * WINDOW_MS) return undefined
  // Rows of candles have a distance: twice the time that a full page of them takes.
  const steps = query.feeds.map(({ interval }) => (interval === '' ? 0 : INTERVAL_MS[interval]))
  const windowMs = Math.max(WINDOW_MS, 2 * limit * Math.max(...steps))
  if (order === 'asc') {
    const to = Math.max(range.from, position?.ts ?? range.from, known.first) + windowMs
    return to < range.to ? { ...query, range: { from: range.from, to } } : undefined
  }
  const from = Math.min(endOf(range), position?.ts ?? endOf(range), known.last) - windowMs
  return from > range.from ? { ...query, range: { ...range, from } } : undefined
}
