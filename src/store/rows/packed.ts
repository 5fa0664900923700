/**
 * Rows as they are sent to the writer thread. One joined text per column crosses the thread boundary as one copy; an
 * array of strings would be copied string by string. No row contains a line break.
 */
import type { Feed } from '../../core/feed.ts'
import type { EncodedRow } from '../../core/rows/encoded-row.ts'
import { NO_BOOKS, packSides } from '../books/pack-sides.ts'

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
  books: PackedBytes | null
}

/** The bytes of all rows, joined. */
interface PackedBytes {
  bytes: Uint8Array
  /** Where the bytes of each row end. */
  ends: Uint32Array
}

const NO_BYTES = new Uint8Array()

/** The bytes of a row; empty if no row has any. */
export function bytesOf(packed: PackedBytes | null, index: number): Uint8Array {
  if (packed === null) return NO_BYTES
  return packed.bytes.subarray(index === 0 ? 0 : packed.ends[index - 1], packed.ends[index])
}

export function joinBytes(lists: readonly Uint8Array[]): PackedBytes {
  const ends = new Uint32Array(lists.length)
  let length = 0
  for (const [i, { length: added }] of lists.entries()) ends[i] = length += added
  const bytes = new Uint8Array(length)
  for (const [i, list] of lists.entries()) bytes.set(list, (ends[i] ?? 0) - list.length)
  return { bytes, ends }
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
    books: hasBooks ? joinBytes(rows.map((row) => packSides(row.books ?? NO_BOOKS))) : null,
  }
}
