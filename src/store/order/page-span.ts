/** The time that a page of rows covers. */
import { INTERVAL_MS } from '../../core/interval.ts'
import type { Span } from '../coverage.ts'
import type { Page, SeriesQuery } from '../series.ts'
import { endOf } from './arms.ts'

/** The part of the query's range that the page covers: from where the page starts to the end of its last row. */
export function pageSpan(query: SeriesQuery, page: Pick<Page, 'hasMore' | 'lastTs'>): Span {
  const begin = query.position?.ts
  const lastTs = page.hasMore ? page.lastTs : undefined
  const rangeEnd = rangeEndOf(query)
  const upTo = (ts: number) => Math.min(rangeEnd, rowEnd(query, ts))
  return query.order === 'asc'
    ? { from: begin ?? query.range.from, to: lastTs === undefined ? rangeEnd : upTo(lastTs) }
    : { from: lastTs ?? query.range.from, to: begin === undefined ? rangeEnd : upTo(begin) }
}

/** A candle that begins inside the range is completely in the page, so all of its time counts. */
function rangeEndOf(query: SeriesQuery): number {
  const end = endOf(query.range)
  const lengthMs = candleMs(query)
  if (lengthMs === undefined) return end
  const candleEnd = Math.ceil(end / lengthMs) * lengthMs
  return candleEnd - lengthMs < query.range.from ? end : candleEnd
}

/** The end of the time that a row covers: its candle, its sampling step, or its instant. */
export function rowEnd(query: SeriesQuery, ts: number): number {
  const { stepMs } = query
  if (stepMs !== undefined) return Math.ceil(ts / stepMs) * stepMs + 1
  return ts + (candleMs(query) ?? 1)
}

/** The length of the query's candles; `flow` rows are candles too. */
function candleMs({ feeds: [feed] }: SeriesQuery): number | undefined {
  const isCandle = feed?.dataset === 'candles' || feed?.dataset === 'flow'
  return isCandle && feed.interval !== '' ? INTERVAL_MS[feed.interval] : undefined
}
