/**
 * A page reads one *arm* per feed (and per instrument, when asked for): a range of one tree, already in
 * order. SQLite merges arms while it reads them, so a page touches about as many rows as it returns,
 * whatever the size of the table.
 *
 *   one source    ORDER BY ts, instrument, seq        every arm delivers that order by itself
 *   many sources  ORDER BY ts; the arms are in the order of sources, and the merge of UNION ALL gives
 *                 rows of the left arm first when they are equal (the conformance suite proves it)
 *   both          several arms per source and several sources: a sort of `limit` keys per arm
 */
import { type Arm, edgeOf, endOf, seqBeside } from '../order/arms.ts'
import type { Position, RowFilters, TimeRange } from '../series.ts'

type Bind = string | number
export interface ArmsQuery {
  arms: readonly Arm[]
  range: TimeRange
  order: 'asc' | 'desc'
  position?: Position | undefined
  filters?: RowFilters | undefined
}

export interface BuiltArms {
  /** Has no LIMIT; every arm selects the same columns. */
  sql: string
  binds: Bind[]
}

/** `columns` may name ts, rank, feed, instrument, seq and text. With several arms the sort keys are added. */
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
