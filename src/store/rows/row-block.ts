/**
 * Many closed rows of a feed in one compressed block. Rows of one kind share most of their text, so they take a
 * quarter of the space. zstd would take half as much as LZ4, but is unpacked three times as slowly; with LZ4, a page is
 * read from blocks about as fast as row by row.
 *
 *   2 │ length │ LZ4 block                          or, if samples may be read from the block:
 *   1 │ length │ text of the last row │ 2 │ length │ LZ4 block
 *
 * What the LZ4 block contains:
 *
 *   length │ head, as JSON │ columns of numbers, 8 or 4 bytes each │ texts, each followed by the separator of pages
 *
 * The head has the columns that are not numbers; both only if a row has an unusual value. The text of the last row is
 * not compressed, because unpacking it would take longer than the rest of reading a sample.
 */
import { isAscii } from 'node:buffer'
import lz4 from 'lz4-napi'
import type { BlockRow } from './block-row.ts'
import { decodeZstdRows, isZstd, unpackedText } from './zstd-row-block.ts'

/** Columns of numbers, with the value that most rows have. Null is stored as NaN. */
const NUMBERS = { ts: undefined, recordedAt: undefined, seq: 0, usd: Number.NaN, revision: 1 } as const
type NumberColumn = keyof typeof NUMBERS

interface Head {
  count: number
  /** The columns of 8 bytes, which have the values themselves. */
  values: NumberColumn[]
  /** The columns of 4 bytes, which have the differences to the row before, and the value of the first row. */
  differences: [column: NumberColumn, first: number][]
  instruments?: string[]
  /** A digit per row, and what the digits mean. */
  sides?: { digits: string; meanings: (string | null)[] }
}

/** The first byte of a block whose last row can be read alone. */
const LAST_APART = 1
/** The first byte of rows in LZ4. */
const LZ4 = 2
/** A number of 4 bytes follows the first byte: the length of the last row, or of the rows once they are unpacked. */
const BODY_AT = 5
/** A damaged length must not take all memory. Blocks of order books, the longest, have less than a megabyte. */
const MAX_UNPACKED_BYTES = 256 * 1024 * 1024
/** The length of the head comes before it. */
const HEAD_AT = 4
/** What an Int32Array can hold. */
const MAX_DIFFERENCE = 2 ** 31 - 1

/** Placed between the rows of a page, as the API requests it. No row contains a line break. */
export const PAGE_SEPARATOR = ',\n'

/**
 * A block prepared for reading pages: the rows as one text, each followed by the separator of pages, and where they
 * begin. A page of neighbouring rows is one slice of it.
 */
export interface OpenBlock {
  readonly count: number
  readonly ts: Float64Array
  readonly text: string
  /** Has one entry more than there are rows: the end of the text. */
  readonly starts: Uint32Array
  instrument(index: number): string
  seq(index: number): number
  side(index: number): string | null
  usd(index: number): number | null
  /** Without the separator. */
  row(index: number): string
}

export function encodeRows(rows: readonly BlockRow[], lastApart = false): Uint8Array {
  const head: Head = { count: rows.length, values: [], differences: [] }
  const wide: Float64Array[] = []
  const narrow: Int32Array[] = []
  for (const column of Object.keys(NUMBERS) as NumberColumn[]) {
    const values = rows.map((row) => row[column] ?? Number.NaN)
    if (values.every((value) => Object.is(value, NUMBERS[column]))) continue
    const differences = values.map((value, i) => value - (values[i - 1] ?? value))
    if (values.every(Number.isSafeInteger) && differences.every((each) => Math.abs(each) <= MAX_DIFFERENCE)) {
      head.differences.push([column, values[0] ?? 0])
      narrow.push(Int32Array.from(differences))
    } else {
      head.values.push(column)
      wide.push(Float64Array.from(values))
    }
  }
  if (rows.some(({ instrument }) => instrument !== ''))
    head.instruments = rows.map(({ instrument }) => instrument)
  if (rows.some(({ side }) => side !== null)) head.sides = sidesOf(rows)
  const columns = [...wide, ...narrow].map(({ buffer }) => new Uint8Array(buffer))
  const texts = rows.map(({ text }) => text + PAGE_SEPARATOR).join('')
  const packed = lz4.compressSync(Buffer.concat([headBytes(head), ...columns, Buffer.from(texts)]))
  const all = Buffer.concat([Buffer.of(LZ4), packed])
  if (!lastApart) return all
  const last = Buffer.from(rows.at(-1)?.text ?? '')
  const start = Buffer.alloc(BODY_AT)
  start.writeUInt8(LAST_APART)
  start.writeUInt32LE(last.length, 1)
  return Buffer.concat([start, last, all])
}

export function decodeRows(data: Uint8Array): BlockRow[] {
  const body = data.subarray(bodyAt(data))
  if (isZstd(body)) return decodeZstdRows(body)
  const { count, starts, text, number, instrument, side } = unpack(body)
  const [ts, recordedAt, seq, usd, revision] = (['ts', 'recordedAt', 'seq', 'usd', 'revision'] as const).map(
    number,
  )
  return Array.from({ length: count }, (_, i) => ({
    ts: ts?.[i] ?? 0,
    instrument: instrument(i),
    seq: seq?.[i] ?? 0,
    text: rowOf(text, starts, i),
    side: side(i),
    usd: numberOrNull(usd?.[i]),
    revision: revision?.[i] ?? 1,
    recordedAt: recordedAt?.[i] ?? 0,
  }))
}

export function openBlock(data: Uint8Array): OpenBlock {
  const body = data.subarray(bodyAt(data))
  if (isZstd(body)) return openBlock(encodeRows(decodeZstdRows(body)))
  const { count, starts, text, number, instrument, side } = unpack(body)
  /** Most pages need these columns of two rows only, or of none. */
  const whenAsked = (column: NumberColumn) => {
    let values: Float64Array | undefined
    return (index: number) => {
      values ??= number(column) ?? new Float64Array()
      return values[index]
    }
  }
  const [seq, usd] = [whenAsked('seq'), whenAsked('usd')]
  return {
    ...{ count, text, starts, instrument, side },
    ts: number('ts') ?? new Float64Array(count),
    seq: (index) => seq(index) ?? 0,
    usd: (index) => numberOrNull(usd(index)),
    row: (index) => rowOf(text, starts, index),
  }
}

const numberOrNull = (value: number | undefined) =>
  value === undefined || Number.isNaN(value) ? null : value

const rowOf = (text: string, starts: Uint32Array, index: number) =>
  text.slice(starts[index], (starts[index + 1] ?? 0) - PAGE_SEPARATOR.length)

/** The text of the last row, if it can be read without the others. */
export function lastOfBlock(data: Uint8Array): string | undefined {
  if (data[0] !== LAST_APART) return undefined
  const last = data.subarray(BODY_AT, bodyAt(data))
  // Older blocks store it as a zstd frame.
  return isZstd(last) ? unpackedText(last) : textOf(last)
}

function bodyAt(data: Uint8Array): number {
  return data[0] === LAST_APART ? BODY_AT + lengthAt(data, 1) : 0
}

interface Unpacked extends Pick<OpenBlock, 'count' | 'text' | 'starts' | 'instrument' | 'side'> {
  /** Undefined if every row has the usual value. */
  number(column: NumberColumn): Float64Array | undefined
}

function unpack(body: Uint8Array): Unpacked {
  if (body[0] !== LZ4 || lengthAt(body, 1) > MAX_UNPACKED_BYTES) throw damaged()
  const data = lz4.uncompressSync(body.subarray(1))
  const headEnd = HEAD_AT + lengthAt(data, 0)
  const head = JSON.parse(textOf(data.subarray(HEAD_AT, headEnd))) as Head
  const { count, values = [], differences = [], instruments, sides } = head
  const differencesAt = 8 * count * values.length
  const textAt = headEnd + differencesAt + 4 * count * differences.length
  if (!(textAt <= data.length)) throw damaged()
  // A copy, because an opened block is kept, and a view of the columns would keep the bytes of all texts with it.
  const { buffer } = new Uint8Array(data.subarray(headEnd, textAt))
  const text = textOf(data.subarray(textAt))
  const starts = new Uint32Array(count + 1)
  for (let i = 1; i <= count; i++) starts[i] = text.indexOf('\n', starts[i - 1]) + 1
  if (starts[count] !== text.length) throw damaged()
  return {
    ...{ count, starts, text },
    number(column) {
      const value = values.indexOf(column)
      if (value !== -1) return new Float64Array(buffer, 8 * count * value, count)
      const difference = differences.findIndex(([name]) => name === column)
      if (difference === -1) return undefined
      const at = differencesAt + 4 * count * difference
      return sumsOf(new Int32Array(buffer, at, count), differences[difference]?.[1] ?? 0)
    },
    instrument: (index) => instruments?.[index] ?? '',
    side: (index) => (sides === undefined ? null : (sides.meanings[Number(sides.digits[index])] ?? null)),
  }
}

const damaged = () => new Error('a block of rows is damaged')

function headBytes(head: Head): Buffer {
  const json = Buffer.from(JSON.stringify(head))
  const length = Math.ceil((HEAD_AT + json.length) / 8) * 8 - HEAD_AT
  const bytes = Buffer.alloc(HEAD_AT + length, ' ')
  bytes.writeUInt32LE(length)
  json.copy(bytes, HEAD_AT)
  return bytes
}

function sidesOf(rows: readonly BlockRow[]): NonNullable<Head['sides']> {
  const meanings = [...new Set(rows.map(({ side }) => side))]
  if (meanings.length > 10) throw new Error('a block has rows of more than ten sides')
  return { digits: rows.map(({ side }) => meanings.indexOf(side)).join(''), meanings }
}

function sumsOf(differences: Int32Array, first: number): Float64Array {
  const sums = new Float64Array(differences.length)
  let sum = first
  for (let i = 0; i < differences.length; i++) {
    sum += differences[i] ?? 0
    sums[i] = sum
  }
  return sums
}

/** Most rows are plain ASCII, which decodes faster as latin1. */
function textOf(bytes: Uint8Array): string {
  const { buffer, byteOffset, byteLength } = bytes
  return Buffer.from(buffer, byteOffset, byteLength).toString(isAscii(bytes) ? 'latin1' : 'utf8')
}

function lengthAt({ buffer, byteOffset, byteLength }: Uint8Array, at: number): number {
  return new DataView(buffer, byteOffset, byteLength).getUint32(at, true)
}
