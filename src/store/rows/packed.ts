/**
 * Rows as they are sent to the writer thread. One joined text per column crosses the thread boundary as one copy;
 * an array of strings would be copied one by one. No row contains a line break.
 */
import type { Feed } from '../../core/feed.ts'
import type { EncodedRow } from '../../core/rows/encoded-row.ts'

export interface PackedRows {
  feed: Feed
  count: number
  ts: Float64Array
  seq: Float64Array
  closed: Uint8Array
  texts: string
  instruments: string | null
  sides: string | null
  usd: Float64Array | null
  books: string | null
}

export function packRows(feed: Feed, rows: readonly EncodedRow[]): PackedRows {
  const count = rows.length
  const ts = new Float64Array(count)
  const seq = new Float64Array(count)
  const closed = new Uint8Array(count)
  let hasInstrument = false
  let hasSide = false
  let hasUsd = false
  let hasBooks = false
  for (const [i, row] of rows.entries()) {
    ts[i] = row.ts
    seq[i] = row.seq
    closed[i] = row.closed ? 1 : 0
    if (row.instrument !== '') hasInstrument = true
    if (row.side !== undefined) hasSide = true
    if (row.usd !== undefined) hasUsd = true
    if (row.books !== undefined) hasBooks = true
  }
  return {
    feed,
    count,
    ts,
    seq,
    closed,
    texts: rows.map((row) => row.text).join('\n'),
    instruments: hasInstrument ? rows.map((row) => row.instrument).join('\n') : null,
    sides: hasSide ? rows.map((row) => row.side ?? '').join('\n') : null,
    usd: hasUsd ? Float64Array.from(rows, (row) => row.usd ?? Number.NaN) : null,
    books: hasBooks ? rows.map((row) => row.books ?? '').join('\n') : null,
  }
}
