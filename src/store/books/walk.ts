/**
 * Pages over groups of rows: span by span in the direction of the page, with the rows of all markets in a span merged
 * by their keys. A page unpacks only the groups of the spans it passes through. It rests between groups and between
 * rows.
 */
import { SOURCES, type Source } from '../../core/source.ts'
import { type Arm, compareText, endOf, isAfter } from '../order/arms.ts'
import type { RestingWork } from '../rows/work-in-turns.ts'
import type { Position, SeriesQuery } from '../series.ts'
import { spanOf } from './block.ts'
import { type GroupReader, type GroupView, lowerBound, ofSide } from './group.ts'

/** The place of a row in its group. */
export interface BookRef {
  readonly feed: number
  readonly position: Position
  readonly view: GroupView
  readonly index: number
}

export function refOf(view: GroupView, index: number, rank: number): BookRef {
  const position = {
    ts: view.ts[index] ?? 0,
    source: SOURCES[rank] as Source,
    instrument: view.instrument,
    seq: view.seq[index] ?? 0,
  }
  return { feed: view.feed, position, view, index }
}

/** Rows merged between two rests. */
const ROWS_PER_REST = 64

export function* bookRows(
  groups: GroupReader,
  arms: readonly Arm[],
  query: SeriesQuery,
  limit: number,
): RestingWork<BookRef[]> {
  // No row of a prediction market has a dollar value, and grouped rows are never open.
  if (query.filters?.minUsd !== undefined || query.filters?.open === true) return []
  const ascending = query.order === 'asc'
  let from = query.range.from
  let to = endOf(query.range) - 1
  if (query.position !== undefined) {
    if (ascending) from = Math.max(from, query.position.ts)
    else to = Math.min(to, query.position.ts)
  }
  const found: BookRef[] = []
  let span: number | undefined = spanOf(ascending ? from : to)
  while (found.length < limit && from <= to) {
    span = nearestSpan(groups, arms, query.order, span)
    if (span === undefined || (ascending ? span > spanOf(to) : span < spanOf(from))) break
    const heads = yield* headsOf(groups, arms, query, span, from, to)
    let passed = 0
    for (let head = next(heads, ascending); head !== undefined; head = next(heads, ascending)) {
      if (head.isWanted(head.at)) found.push(refOf(head.view, head.at, head.rank))
      if (found.length === limit) return found
      head.at += ascending ? 1 : -1
      if (++passed % ROWS_PER_REST === 0) yield
    }
    span += ascending ? 1 : -1
  }
  return found
}

function nearestSpan(
  groups: GroupReader,
  arms: readonly Arm[],
  order: 'asc' | 'desc',
  span: number,
): number | undefined {
  const spans = arms
    .map((arm) => groups.nearestSpan(arm.feed, arm.instrument, order, span))
    .filter((each) => each !== undefined)
  if (spans.length === 0) return undefined
  return order === 'asc' ? Math.min(...spans) : Math.max(...spans)
}

/** A list of rows that a page takes from, with the index of the next row. */
interface Head {
  readonly view: GroupView
  readonly ts: readonly number[]
  readonly rank: number
  readonly isWanted: (index: number) => boolean
  at: number
  /** One past the last index in the direction of the page. */
  readonly end: number
}

/** The lists of a span, sorted by source and then instrument, which decides ties. */
function* headsOf(
  groups: GroupReader,
  arms: readonly Arm[],
  query: SeriesQuery,
  span: number,
  from: number,
  to: number,
): RestingWork<Head[]> {
  const ascending = query.order === 'asc'
  const side = query.filters?.side
  const heads: Head[] = []
  for (const { feed, instrument, rank } of arms) {
    const views =
      instrument === undefined
        ? yield* groups.viewsInTurns(feed, span)
        : [groups.view(feed, span, instrument)]
    for (const view of views) {
      if (view === undefined) continue
      yield
      const { ts } = view
      const low = lowerBound(ts, from)
      const high = lowerBound(ts, to + 1)
      if (low >= high) continue
      const isWanted = side === undefined ? () => true : ofSide(view, side)
      const walk = ascending ? { at: low, end: high } : { at: high - 1, end: low - 1 }
      const head = { view, ts, rank, isWanted, ...walk }
      while (head.at !== head.end && !isAfter(refOf(view, head.at, rank).position, query))
        head.at += ascending ? 1 : -1
      if (head.at !== head.end) heads.push(head)
    }
  }
  return heads.sort((a, b) => a.rank - b.rank || compareText(a.view.instrument, b.view.instrument))
}

/** The list with the next row. The order of the lists decides ties; rows of one market differ in sequence. */
function next(heads: readonly Head[], ascending: boolean): Head | undefined {
  let best: Head | undefined
  let bestTs = 0
  for (const head of heads) {
    if (head.at === head.end) continue
    const ts = head.ts[head.at] ?? 0
    if (best === undefined || (ascending ? ts < bestTs : ts >= bestTs)) {
      best = head
      bestTs = ts
    }
  }
  return best
}
