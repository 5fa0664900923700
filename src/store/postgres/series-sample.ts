/**
 * Samples snapshots that are stored one by one; these have no instruments. The walk is inside the statement: it jumps
 * from one step that has rows to the next, and reads the last row of each.
 */
import { SOURCES, type Source } from '../../core/source.ts'
import { type Arm, comparePositions, endOf, isAfter } from '../order/arms.ts'
import type { SeriesQuery } from '../series.ts'
import { type Queries, statement } from './database.ts'
import type { StoredRow } from './series-page.ts'

/** $1 feed, $2 to $3 the range, $4 the step, $5 the maximum number of steps, $6 the start of the walk. */
const walkOf = (order: 'asc' | 'desc') => {
  const ascending = order === 'asc'
  const nearest = (from: string) =>
    `SELECT ts FROM series_snapshots WHERE feed_id = $1::bigint
      AND ts BETWEEN ${ascending ? `${from} AND $3::bigint` : `$2::bigint AND ${from}`}
      ORDER BY ts${ascending ? '' : ' DESC'} LIMIT 1`
  const step = (from: string) => `
      (${nearest(from)}) near
      CROSS JOIN LATERAL (SELECT (near.ts + $4::bigint - 1) / $4 * $4 AS at) step_end
      CROSS JOIN LATERAL (
        SELECT ts, seq, text FROM series_snapshots
          WHERE feed_id = $1 AND ts BETWEEN greatest(step_end.at - $4 + 1, $2::bigint) AND least(step_end.at, $3::bigint)
          ORDER BY ts DESC, instrument DESC, seq DESC LIMIT 1) found`
  const next = ascending ? 'step_end.at + 1' : 'step_end.at - $4'
  return statement(
    `sample_${order}`,
    `WITH RECURSIVE walk AS (
        SELECT found.ts, found.seq, found.text, ${next} AS next, 1 AS n FROM ${step('$6::bigint')}
      UNION ALL
        SELECT found.ts, found.seq, found.text, ${next}, w.n + 1 FROM walk w CROSS JOIN LATERAL ${step('w.next')}
          WHERE w.n < $5::int)
      SELECT ts, seq, text FROM walk`,
  )
}
const WALKS = { asc: walkOf('asc'), desc: walkOf('desc') }

export async function readSampledRows(
  queries: Queries,
  arms: readonly Arm[],
  query: SeriesQuery & { stepMs: number },
  limit: number,
): Promise<StoredRow[]> {
  const { order, stepMs, range, position } = query
  const ascending = order === 'asc'
  const [first, last] = [range.from, endOf(range) - 1]
  const edge = ascending ? first : last
  const start = position === undefined ? edge : (ascending ? Math.max : Math.min)(edge, position.ts)
  const found = await Promise.all(
    arms
      .filter(({ instrument = '' }) => instrument === '')
      .map(async ({ feed, rank }) => {
        // The step of the position is walked again, because its row may or may not come after the position.
        const values = [feed, first, last, stepMs, limit + 1, start]
        const rows = await queries.rows<{ ts: number; seq: number; text: string }>(WALKS[order], values)
        return rows.map(({ ts, seq, text }): StoredRow => {
          const source = SOURCES[rank] as Source
          return { feed, text, position: { ts, source, instrument: '', seq } }
        })
      }),
  )
  const sign = ascending ? 1 : -1
  return found
    .flat()
    .filter((row) => isAfter(row.position, query))
    .sort((a, b) => comparePositions(a.position, b.position) * sign)
    .slice(0, limit)
}
