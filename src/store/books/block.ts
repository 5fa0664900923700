/**
 * Snapshots (or trades) of one instrument over ten minutes as one compressed block, column by column: keys, fields of
 * the light rows (fields.ts) and books as changes from row to row (sides.ts). Little changes between samples, so a row
 * takes a few tens of bytes. Reading a row replays the block up to it, from the nearest row reached before.
 *
 *   layout, compressed as a whole:  rows | times | sequences | recording times | fields | sides
 *
 * A later block of the same group repeats much of the first, so it is compressed with the content of the first as its
 * dictionary, after a byte that marks it.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { BookRow } from './book-row.ts'
import { byteReader, byteWriter } from './bytes.ts'
import { readFields, writeFields } from './fields.ts'
import { readSides, writeSides } from './sides.ts'

const SPAN_MS = 600_000
const LEVEL = 3
/** Marks a block that is compressed with a dictionary; others begin with the magic number of zstd. */
const WITH_DICTIONARY = 1
const MARK = Uint8Array.of(WITH_DICTIONARY)
/** Memory of a decoded key and its share of cached books, besides the content of the block. */
const BYTES_PER_KEY = 56

export function spanOf(ts: number): number {
  return Math.floor(ts / SPAN_MS)
}

export interface BookBlock {
  /** The dictionary of the following blocks if this is the first one. */
  readonly content: Uint8Array
  readonly ts: readonly number[]
  readonly seq: readonly number[]
  /** Approximate size in memory. */
  readonly bytes: number
  /** The rows at these indexes, which must ascend; without indexes all rows. */
  rows(indexes?: readonly number[]): BookRow[]
}

/** Rows are sorted by (ts, seq) and belong to one span. `first` is the content of the group's first block. */
export function encodeBlock(rows: readonly BookRow[], first?: Uint8Array): Uint8Array {
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
  const params = { [constants.ZSTD_c_compressionLevel]: LEVEL }
  if (first === undefined) return zstdCompressSync(block.bytes(), { params })
  return Buffer.concat([MARK, zstdCompressSync(block.bytes(), { params, dictionary: first })])
}

/** `first` is the content of the group's first block. */
export function decodeBlock(data: Uint8Array, span: number, first?: Uint8Array): BookBlock {
  const content = contentOf(data, first)
  const block = byteReader(content)
  const count = block.number()
  const [times, sequences, recorded] = [block.section(), block.section(), block.section()]
  let lastTs = span * SPAN_MS
  const ts = Array.from({ length: count }, () => {
    lastTs += times.number()
    return lastTs
  })
  const seq = Array.from({ length: count }, () => sequences.number())
  /** Read on demand, because a page over all markets needs only the keys of most blocks. */
  const readColumns = () => {
    let lastLag = 0
    const recordedAt = ts.map((time) => {
      lastLag += recorded.signed()
      return time + lastLag
    })
    return { recordedAt, fields: readFields(block), books: readSides(block) }
  }
  let columns: ReturnType<typeof readColumns> | undefined

  return {
    content,
    ts,
    seq,
    bytes: content.length + count * BYTES_PER_KEY,
    rows(indexes) {
      columns ??= readColumns()
      const { recordedAt, fields, books } = columns
      const sides = books.walk()
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

/** The decompressed content of a block. */
export function contentOf(data: Uint8Array, first?: Uint8Array): Uint8Array {
  if (data[0] !== WITH_DICTIONARY) return zstdDecompressSync(data)
  if (first === undefined) throw new RangeError('a block of books has no first one before it')
  return zstdDecompressSync(data.subarray(1), { dictionary: first })
}

/** The blocks of a group as one; each has later rows than the one before. */
export function decodeBlocks(parts: readonly Uint8Array[], span: number): BookBlock | undefined {
  const blocks: BookBlock[] = []
  for (const data of parts) blocks.push(decodeBlock(data, span, blocks[0]?.content))
  const [first] = blocks
  if (first === undefined || blocks.length === 1) return first
  return {
    content: first.content,
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
