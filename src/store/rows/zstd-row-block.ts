/** Blocks of rows as they were written before they were packed with LZ4. They are read, but no longer written. */
import { zstdDecompressSync } from 'node:zlib'
import type { BlockRow } from './block-row.ts'

interface Columns {
  /** The first value is absolute, the others are differences to the one before; the same for `recorded`. */
  ts: number[]
  recorded: number[]
  instruments?: string[]
  seqs?: number[]
  sides?: (string | null)[]
  usd?: (number | null)[]
  revisions?: number[]
  /** The common beginning and end of all texts. */
  around?: [begin: string, end: string]
}

/** The first byte of a zstd frame; no text of a row begins with it. */
const FIRST_BYTE = 0x28

export const isZstd = (data: Uint8Array): boolean => data[0] === FIRST_BYTE

export const unpackedText = (data: Uint8Array): string => zstdDecompressSync(data).toString()

export function decodeZstdRows(data: Uint8Array): BlockRow[] {
  const [head = '', ...texts] = unpackedText(data).split('\n')
  const columns = JSON.parse(head) as Columns
  const [begin, end] = columns.around ?? ['', '']
  const [times, recorded] = [sums(columns.ts), sums(columns.recorded)]
  return texts.map((text, i) => ({
    ts: times[i] ?? 0,
    instrument: columns.instruments?.[i] ?? '',
    seq: columns.seqs?.[i] ?? 0,
    text: begin + text + end,
    side: columns.sides?.[i] ?? null,
    usd: columns.usd?.[i] ?? null,
    revision: columns.revisions?.[i] ?? 1,
    recordedAt: recorded[i] ?? 0,
  }))
}

function sums(values: readonly number[]): number[] {
  let sum = 0
  return values.map((value) => {
    sum += value
    return sum
  })
}
