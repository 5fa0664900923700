/** The order of pages, (time, source, instrument, sequence), and where a page over several feeds continues. */
import type { Feed } from '../../core/feed.ts'
import { SOURCES, type Source } from '../../core/source.ts'
import type { Position, SeriesQuery, TimeRange } from '../series.ts'

/** One ordered range that a page reads: a feed, or one instrument of it. A page merges its arms. */
export interface Arm {
  feed: number
  rank: number
  /** Undefined for every instrument of the feed. */
  instrument: string | undefined
}

/** Merging is cheap per row, but each arm adds a cost. */
const MAX_ARMS = 200

export function armsOf(query: SeriesQuery, feedId: (feed: Feed) => number | undefined): Arm[] {
  const arms: Arm[] = []
  for (const feed of query.feeds) {
    const id = feedId(feed)
    if (id === undefined) continue
    const rank = SOURCES.indexOf(feed.source)
    const wanted = query.filters?.instruments
    if (wanted === undefined) arms.push({ feed: id, rank, instrument: undefined })
    // No row has an instrument with the character U+0000 (`checkKey`), and some engines refuse it in a query.
    else
      for (const instrument of new Set(wanted))
        if (!instrument.includes('\0')) arms.push({ feed: id, rank, instrument })
  }
  if (arms.length > MAX_ARMS) throw new RangeError(`a page merges at most ${MAX_ARMS} feeds and instruments`)
  return arms
}

/** Times are whole milliseconds, so an inclusive end is an exclusive end one later. */
export function endOf(range: TimeRange): number {
  return range.toInclusive ? range.to + 1 : range.to
}

/** What determines where a page continues. */
type WalkQuery = Pick<SeriesQuery, 'range' | 'order'> & { position?: Position | undefined }

export interface Edge {
  ts: number
  instrument: string
  seq: number
}

/** The key after which an arm starts. No stored key has a sequence below 0. */
export function edgeOf(query: WalkQuery, arm: Arm): Edge {
  const { position } = query
  const start = (ts: number): Edge => ({ ts, instrument: '', seq: -1 })
  if (query.order === 'asc') {
    if (position === undefined || position.ts < query.range.from) return start(query.range.from)
    const rank = rankOf(position.source)
    if (arm.rank === rank) return position
    return start(arm.rank > rank ? position.ts : position.ts + 1)
  }
  const end = endOf(query.range)
  if (position === undefined || position.ts >= end) return start(end)
  const rank = rankOf(position.source)
  if (arm.rank === rank) return position
  return start(arm.rank < rank ? position.ts + 1 : position.ts)
}

/** At the edge's instant, all rows of a different instrument are on one side of the edge. */
export function seqBeside(edge: Edge, instrument: string): number {
  const order = compareText(instrument, edge.instrument)
  if (order === 0) return edge.seq
  return order > 0 ? -1 : Number.MAX_SAFE_INTEGER
}

const FIRST_HALF = 0xd800

/** Compares by UTF-8 bytes, which is by code point, as databases compare text without a locale. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x === y) continue
    // Only surrogates sort differently from their code points.
    return x < FIRST_HALF && y < FIRST_HALF ? x - y : Buffer.compare(Buffer.from(a), Buffer.from(b))
  }
  return a.length - b.length
}

function rankOf(source: Source): number {
  return SOURCES.indexOf(source)
}

/** The order of pages. */
export function comparePositions(a: Position, b: Position): number {
  return (
    a.ts - b.ts ||
    rankOf(a.source) - rankOf(b.source) ||
    compareText(a.instrument, b.instrument) ||
    a.seq - b.seq
  )
}

export function isAfter(position: Position, query: Pick<SeriesQuery, 'position' | 'order'>): boolean {
  if (query.position === undefined) return true
  const order = comparePositions(position, query.position)
  return query.order === 'asc' ? order > 0 : order < 0
}
