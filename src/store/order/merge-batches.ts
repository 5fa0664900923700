/**
 * Merges lists that are each in the order of a page, and takes from them only what the page needs. It rests after each
 * batch, because reading one may mean unpacking a block, and after some rows.
 */
import type { RestingWork } from '../rows/work-in-turns.ts'
import type { Position } from '../series.ts'
import { comparePositions } from './arms.ts'

/** The rows of a list in parts, which may be empty. Each part is read when it is asked for. */
export type Batches<Row> = Iterator<readonly Row[], unknown, undefined>

interface Head<Row> {
  readonly batches: Batches<Row>
  rows: readonly Row[]
  at: number
}

/** Rows merged between two rests. */
const ROWS_PER_REST = 64

/** The first `limit` rows; of rows with equal positions, those of the list that comes first. */
export function* mergedBatches<Row extends { readonly position: Position }>(
  lists: readonly Batches<Row>[],
  order: 'asc' | 'desc',
  limit: number,
): RestingWork<Row[]> {
  const merged: Row[] = []
  const heads: Head<Row>[] = lists.map((batches) => ({ batches, rows: [], at: 0 }))
  for (const head of heads.slice()) yield* advance(heads, head)
  while (heads.length > 0 && merged.length < limit) {
    const [head, row] = nextOf(heads, order)
    merged.push(row)
    head.at++
    if (head.at === head.rows.length && merged.length < limit) yield* advance(heads, head)
    if (merged.length % ROWS_PER_REST === 0) yield
  }
  return merged
}

/** Reads until the list has a next row; a list that has none is removed. */
function* advance<Row>(heads: Head<Row>[], head: Head<Row>): RestingWork<void> {
  do {
    const next = head.batches.next()
    if (next.done) {
      heads.splice(heads.indexOf(head), 1)
      return
    }
    head.rows = next.value
    head.at = 0
    yield
  } while (head.rows.length === 0)
}

function nextOf<Row extends { readonly position: Position }>(
  heads: readonly Head<Row>[],
  order: 'asc' | 'desc',
): [Head<Row>, Row] {
  const sign = order === 'asc' ? 1 : -1
  let best = heads[0] as Head<Row>
  let row = best.rows[best.at] as Row
  for (let i = 1; i < heads.length; i++) {
    const head = heads[i] as Head<Row>
    const other = head.rows[head.at] as Row
    const difference = other.position.ts - row.position.ts || comparePositions(other.position, row.position)
    if (difference * sign >= 0) continue
    best = head
    row = other
  }
  return [best, row]
}
