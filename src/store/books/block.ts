/**
 * Snapshots (or trades) of one instrument over ten minutes as one compressed block, column by column: keys, fields of
 * the light rows (fields.ts) and books as changes from row to row (sides.ts). Little changes between samples, so a row
 * takes some tens of bytes. Reading a row replays the block up to it, from the nearest row reached before.
 *
 *   layout, compressed as a whole:  rows | times | sequences | recording times | fields | sides
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { BookRow } from './book-row.ts'
import { byteReader, byteWriter } from './bytes.ts'
import { readFields, writeFields } from './fields.ts'
import { readSides, writeSides } from './sides.ts'

const SPAN_MS = 600_000
const LEVEL = 9
/** A key of a decoded block and its share of remembered books, beside its bytes. */
const BYTES_PER_KEY = 56

export function spanOf(ts: number): number {
  return Math.floor(ts / SPAN_MS)
}

export interface BookBlock {
  readonly ts: readonly number[]
  readonly seq: readonly number[]
  /** About what it holds in memory. */
  readonly bytes: number
  /** The rows at these indexes, which ascend; all without them. */
  rows(indexes?: readonly number[]): BookRow[]
}

/** Rows are sorted by (ts, seq) and of one span. */
export function encodeBlock(rows: readonly BookRow[]): Uint8Array {
  const block = byteWriter()
  block.number(rows.length)
  const [times, sequences, recorded] = [byteWriter(), byteWriter(), byteWriter()]
  let lastTs = spanOf(rows[0]?.ts ?? 0) * SPAN_MS
  let lastLag = 0
  for (const { ts, seq, recordedAt } of rows) {
    times.number(ts - lastTs)
    sequences.number(seq)
    recorded.signed(recordedAt - ts - lastLag)
    lastTs = ts
    lastLag = recordedAt - ts
  }
  for (const column of [times, sequences, recorded]) block.section(column)
  writeFields(rows, block)
  writeSides(rows, block)
  return zstdCompressSync(block.bytes(), { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } })
}

export function decodeBlock(data: Uint8Array, span: number): BookBlock {
  const content = zstdDecompressSync(data)
  const block = byteReader(content)
  const count = block.number()
  const [times, sequences, recorded] = [block.section(), block.section(), block.section()]
  let lastTs = span * SPAN_MS
  let lastLag = 0
  const ts = Array.from({ length: count }, () => {
    lastTs += times.number()
    return lastTs
  })
  const seq = Array.from({ length: count }, () => sequences.number())
  const recordedAt = ts.map((time) => {
    lastLag += recorded.signed()
    return time + lastLag
  })
  const fields = readFields(block)
  const columns = readSides(block)

  return {
    ts,
    seq,
    bytes: content.length + count * BYTES_PER_KEY,
    rows(indexes) {
      const sides = columns.walk()
      const textOf = fields.walk()
      const wanted = indexes ?? ts.keys()
      const found: BookRow[] = []
      for (const index of wanted) {
        sides.goTo(index)
        const key = { ts: ts[index] ?? 0, seq: seq[index] ?? 0, recordedAt: recordedAt[index] ?? 0 }
        const row = { ...key, sides: sides.sides() }
        found.push({ ...row, text: textOf(index, row) })
      }
      return found
    },
  }
}

/** Blocks of one group as one, each with later rows than the one before. */
export function joinBlocks(blocks: readonly BookBlock[]): BookBlock | undefined {
  if (blocks.length < 2) return blocks[0]
  return {
    ts: blocks.flatMap(({ ts }) => ts),
    seq: blocks.flatMap(({ seq }) => seq),
    bytes: blocks.reduce((sum, { bytes }) => sum + bytes, 0),
    rows(indexes) {
      if (indexes === undefined) return blocks.flatMap((block) => block.rows())
      const found: BookRow[] = []
      let [first, at] = [0, 0]
      for (const block of blocks) {
        const end = first + block.ts.length
        const own: number[] = []
        for (; at < indexes.length && (indexes[at] ?? end) < end; at++) own.push((indexes[at] ?? 0) - first)
        if (own.length > 0) found.push(...block.rows(own))
        first = end
      }
      return found
    },
  }
}
