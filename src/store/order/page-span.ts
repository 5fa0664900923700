/** The time that a page of rows covers. */
import { INTERVAL_MS } from '../../core/interval.ts'
import type { Span } from '../coverage.ts'
import type { Page, SeriesQuery } from '../series.ts'
import { endOf } from './arms.ts'

/** The part of the query's range that the page covers: from where it continues to the end of its last row. */
export function pageSpan(query: SeriesQuery, page: Pick<Page, 'hasMore' | 'lastTs'>): Span {
  const begin = query.position?.ts
  const lastTs = page.hasMore ? page.lastTs : undefined
  const rangeEnd = endOf(query.range)
  const upTo = (ts: number) => Math.min(rangeEnd, rowEnd(query, ts))
  return query.order === 'asc'
    ? { from: begin ?? query.range.from, to: lastTs === undefined ? rangeEnd : upTo(lastTs) }
    : { from: lastTs ?? query.range.from, to: begin === undefined ? rangeEnd : upTo(begin) }
}

/** The end of the time that a row covers: its candle, its sampling step, or its instant. */
export function rowEnd({ feeds, stepMs }: SeriesQuery, ts: number): number {
  if (stepMs !== undefined) return Math.ceil(ts / stepMs) * stepMs + 1
  const [feed] = feeds
  const isCandle = feed?.dataset === 'candles' || feed?.dataset === 'flow'
  return ts + (isCandle && feed.interval !== '' ? INTERVAL_MS[feed.interval] : 1)
}
