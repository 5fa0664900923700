/**
 * A page reads one *arm* per feed (and per instrument, when asked for): a range of one tree, already in
 * order. SQLite merges arms while it reads them, so a page touches about as many rows as it returns,
 * whatever the size of the table.
 *
 *   one source    ORDER BY ts, instrument, seq        every arm delivers that order by itself
 *   many sources  ORDER BY ts; the arms stand in the order of sources, and the merge of UNION ALL gives
 *                 rows of the left arm first when they are equal (the conformance suite proves it)
 *   both          several arms per source and several sources: a sort of `limit` keys per arm
 */
import { SOURCES, type Source } from '../../core/source.ts'
import type { Position, RowFilters, SeriesQuery, TimeRange } from '../series.ts'

export interface Arm {
  feed: number
  rank: number
  /** Undefined: every instrument of the feed. */
  instrument: string | undefined
}

/** Merging is cheap per row but not free per arm. */
const MAX_ARMS = 200

type Bind = string | number
export interface ArmsQuery {
  arms: readonly Arm[]
  range: TimeRange
  order: 'asc' | 'desc'
  position?: Position | undefined
  filters?: RowFilters | undefined
}

export interface BuiltArms {
  /** Without LIMIT; every column list is `columns`. */
  sql: string
  binds: Bind[]
}

export function armsOf(
  query: SeriesQuery,
  feedId: (feed: SeriesQuery['feeds'][number]) => number | undefined,
): Arm[] {
  const arms: Arm[] = []
  for (const feed of query.feeds) {
    const id = feedId(feed)
    if (id === undefined) continue
    const rank = SOURCES.indexOf(feed.source)
    const wanted = query.filters?.instruments
    if (wanted === undefined) arms.push({ feed: id, rank, instrument: undefined })
    else for (const instrument of new Set(wanted)) arms.push({ feed: id, rank, instrument })
  }
  if (arms.length > MAX_ARMS) throw new RangeError(`a page merges at most ${MAX_ARMS} feeds and instruments`)
  return arms
}

/** Columns may name ts, rank, feed, instrument, seq and text; `ts` and the keys of the order are added. */
export function buildArms(query: ArmsQuery, columns: readonly string[], limitPerArm: number): BuiltArms {
  const step = query.order === 'asc' ? 1 : -1
  const arms = [...query.arms].sort((a, b) => (a.rank - b.rank) * step)
  const ranks = new Set(arms.map((arm) => arm.rank))
  const merged = ranks.size === 1 || ranks.size === arms.length
  const direction = query.order === 'asc' ? '' : ' DESC'
  const keys = !merged
    ? ['ts', 'rank', 'instrument', 'seq']
    : ranks.size === 1
      ? ['ts', 'instrument', 'seq']
      : ['ts']
  const selected = arms.length === 1 ? columns : [...new Set([...keys, ...columns])]
  const orderBy = ` ORDER BY ${keys.map((key) => key + direction).join(', ')}`
  const binds: Bind[] = []
  const selects = arms.map((arm) => {
    const list = selected.map((column) => (column === 'rank' ? `${arm.rank} AS rank` : column)).join(', ')
    const select = `SELECT ${list} FROM series_rows ${armWhere(query, arm, binds)}`
    if (merged) return select
    binds.push(limitPerArm)
    const inArm = `ORDER BY ts${direction}, instrument${direction}, seq${direction}`
    return `SELECT * FROM (${select} ${inArm} LIMIT ?)`
  })
  return { sql: selects.join(' UNION ALL ') + orderBy, binds }
}

/** Times are whole milliseconds, so an inclusive end is an exclusive end one later. */
export function endOf(range: TimeRange): number {
  return range.toInclusive ? range.to + 1 : range.to
}

function armWhere(query: ArmsQuery, arm: Arm, binds: Bind[]): string {
  const ascending = query.order === 'asc'
  const edge = edgeOf(query, arm)
  let where: string
  if (arm.instrument === undefined) {
    where = `WHERE feed = ? AND (ts, instrument, seq) ${ascending ? '>' : '<'} (?, ?, ?)`
    binds.push(arm.feed, edge.ts, edge.instrument, edge.seq)
  } else {
    const index = arm.instrument === '' ? '' : 'INDEXED BY series_rows_by_instrument '
    const partial = arm.instrument === '' ? '' : `AND instrument <> '' `
    where = `${index}WHERE feed = ? AND instrument = ? ${partial}AND (ts, seq) ${ascending ? '>' : '<'} (?, ?)`
    binds.push(arm.feed, arm.instrument, edge.ts, seqBeside(edge, arm.instrument))
  }
  where += ascending ? ' AND ts < ?' : ' AND ts >= ?'
  binds.push(ascending ? endOf(query.range) : query.range.from)
  if (query.filters?.side !== undefined) {
    where += ' AND side = ?'
    binds.push(query.filters.side)
  }
  if (query.filters?.minUsd !== undefined) {
    where += ' AND usd >= ?'
    binds.push(query.filters.minUsd)
  }
  if (query.filters?.open === true) where += ' AND closed = 0'
  return where
}

interface Edge {
  ts: number
  instrument: string
  seq: number
}

/** The key that an arm starts after. No stored key has a sequence below 0. */
function edgeOf(query: ArmsQuery, arm: Arm): Edge {
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

/** At the edge's instant, an instrument before or after the edge's is wholly on one side of it. */
function seqBeside(edge: Edge, instrument: string): number {
  const order = compareText(instrument, edge.instrument)
  if (order === 0) return edge.seq
  return order > 0 ? -1 : Number.MAX_SAFE_INTEGER
}

/** As SQLite compares text: by bytes of UTF-8, which is by code point. */
export function compareText(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b))
}

export function rankOf(source: Source): number {
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
