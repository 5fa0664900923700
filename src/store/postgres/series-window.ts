/**
 * The first attempt at a page over a long range. A statement opens every partition of its range before it reads a row,
 * while a page that is full after a month needs only one or two. If the page is not full there, the whole range is
 * read.
 */
import { INTERVAL_MS } from '../../core/interval.ts'
import { DAY_MS } from '../../core/time.ts'
import { endOf } from '../order/arms.ts'
import type { SeriesQuery } from '../series.ts'

const WINDOW_MS = 32 * DAY_MS

/** The times of the first and the last row of the feeds as last read; rows may have been added since. */
export interface KnownTimes {
  readonly first: number
  readonly last: number
}

/** Undefined if it would not help. If a page of the window has more rows, it is also the page of the query. */
export function firstWindow<Q extends SeriesQuery>(query: Q, known: KnownTimes | undefined): Q | undefined {
  const { range, position, order, limit, filters = {} } = query
  const isFiltered = Object.values(filters).some((each) => each !== undefined)
  if (known === undefined || isFiltered || endOf(range) - range.from <= 2 * WINDOW_MS) return undefined
  // Candles have a fixed distance, so the window is twice the time that a full page of them takes.
  const steps = query.feeds.map(({ interval }) => (interval === '' ? 0 : INTERVAL_MS[interval]))
  const windowMs = Math.max(WINDOW_MS, 2 * limit * Math.max(...steps))
  if (order === 'asc') {
    const to = Math.max(range.from, position?.ts ?? range.from, known.first) + windowMs
    return to < range.to ? { ...query, range: { from: range.from, to } } : undefined
  }
  const from = Math.min(endOf(range), position?.ts ?? endOf(range), known.last) - windowMs
  return from > range.from ? { ...query, range: { ...range, from } } : undefined
}
