/**
 * Many closed rows of a feed in one compressed block. Rows of one kind share most of their text, so they take a tenth
 * of the space. The first line holds the other columns, each only if a row has an unusual value. The remaining lines
 * are the texts without their common beginning and end.
 *
 *   a zstd frame                                    or, if samples may be read from the block:
 *   1 │ length │ text of the last row │ frame of all rows
 *
 * The text of the last row is not compressed, because unpacking it would take longer than the rest of reading a sample.
 */
import { isAscii } from 'node:buffer'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'

export interface BlockRow {
  ts: number
  instrument: string
  seq: number
  text: string
  side: string | null
  usd: number | null
  revision: number
  recordedAt: number
}

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

/** The first byte of a block whose last row can be read alone; zstd frames begin with a different byte. */
const LAST_APART = 1
const FRAME_AT = 5
/** The first byte of a zstd frame; no text of a row begins with it. */
const FRAME_FIRST_BYTE = 0x28

/** Placed between the rows of a page, as the API requests it. */
export const PAGE_SEPARATOR = ',\n'

/**
 * A block prepared for reading pages: the rows as one text, each followed by the separator of pages, and where they
 * begin. A page of neighbouring rows is one slice of it.
 */
export interface OpenBlock {
  readonly count: number
  readonly ts: readonly number[]
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
  const unless = <K extends string, T>(name: K, usual: T, values: T[]) =>
    values.every((value) => value === usual) ? {} : { [name]: values }
  const texts = rows.map(({ text }) => text)
  const [begin, end] = commonEnds(texts)
  const columns = {
    ts: distances(rows.map(({ ts }) => ts)),
    recorded: distances(rows.map(({ recordedAt }) => recordedAt)),
    ...unless(
      'instruments',
      '',
      rows.map(({ instrument }) => instrument),
    ),
    ...unless(
      'seqs',
      0,
      rows.map(({ seq }) => seq),
    ),
    ...unless<'sides', string | null>(
      'sides',
      null,
      rows.map(({ side }) => side),
    ),
    ...unless<'usd', number | null>(
      'usd',
      null,
      rows.map(({ usd }) => usd),
    ),
    ...unless(
      'revisions',
      1,
      rows.map(({ revision }) => revision),
    ),
  }
  const head = JSON.stringify({ ...columns, around: [begin, end] } satisfies Columns)
  // No row contains a line break.
  const own = texts.map((text) => text.slice(begin.length, text.length - end.length))
  const all = zstdCompressSync([head, ...own].join('\n'))
  if (!lastApart) return all
  const last = Buffer.from(texts.at(-1) ?? '')
  const start = Buffer.alloc(FRAME_AT)
  start.writeUInt8(LAST_APART)
  start.writeUInt32LE(last.length, 1)
  return Buffer.concat([start, last, all])
}

export function decodeRows(data: Uint8Array): BlockRow[] {
  const { columns, texts, begin, end } = unpacked(data)
  const [times, recorded] = [sums(columns.ts), sums(columns.recorded)]
  return texts.split('\n').map((text, i) => ({
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

export function openBlock(data: Uint8Array): OpenBlock {
  const { columns, texts, begin, end } = unpacked(data)
  const { ts, instruments, seqs, sides, usd } = columns
  const between = `${end}${PAGE_SEPARATOR}${begin}`
  // A replacement string would interpret a `$` of a row.
  const text = `${begin}${texts.replaceAll('\n', () => between)}${end}${PAGE_SEPARATOR}`
  const starts = new Uint32Array(ts.length + 1)
  for (let i = 1; i <= ts.length; i++) starts[i] = text.indexOf('\n', starts[i - 1]) + 1
  return {
    count: ts.length,
    ts: sums(ts),
    text,
    starts,
    instrument: (index) => instruments?.[index] ?? '',
    seq: (index) => seqs?.[index] ?? 0,
    side: (index) => sides?.[index] ?? null,
    usd: (index) => usd?.[index] ?? null,
    row: (index) => text.slice(starts[index], (starts[index + 1] ?? 0) - PAGE_SEPARATOR.length),
  }
}

/** The text of the last row, if it can be read without the others. */
export function lastOfBlock(data: Uint8Array): string | undefined {
  if (data[0] !== LAST_APART) return undefined
  const last = data.subarray(FRAME_AT, mainFrameAt(data))
  // Older blocks store it as a zstd frame.
  return last[0] === FRAME_FIRST_BYTE ? unpackedText(last) : textOf(last)
}

function mainFrameAt(data: Uint8Array): number {
  if (data[0] !== LAST_APART) return 0
  return FRAME_AT + new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(1, true)
}

function unpacked(data: Uint8Array): { columns: Columns; texts: string; begin: string; end: string } {
  const whole = unpackedText(data.subarray(mainFrameAt(data)))
  const headEnd = whole.indexOf('\n')
  const columns = JSON.parse(whole.slice(0, headEnd)) as Columns
  // Older blocks store whole texts.
  const [begin, end] = columns.around ?? ['', '']
  return { columns, texts: whole.slice(headEnd + 1), begin, end }
}

function commonEnds([first = '', ...others]: readonly string[]): [begin: string, end: string] {
  let begin = first.length
  for (const other of others) {
    let i = 0
    while (i < begin && other.charCodeAt(i) === first.charCodeAt(i)) i++
    begin = i
  }
  let end = first.length - begin
  for (const other of others) {
    let i = 0
    const longest = Math.min(end, other.length - begin)
    while (i < longest && other.charCodeAt(other.length - 1 - i) === first.charCodeAt(first.length - 1 - i))
      i++
    end = i
  }
  // A surrogate alone cannot be encoded as UTF-8, so a pair is not split.
  if (isHalf(first, begin)) begin--
  if (isHalf(first, first.length - end)) end--
  return [first.slice(0, begin), first.slice(first.length - end)]
}

/** Whether a cut at this place would split a surrogate pair. */
function isHalf(text: string, at: number): boolean {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)]
  return (before & 0xfc00) === 0xd800 || (after & 0xfc00) === 0xdc00
}

/** Unpacks into one buffer of the right size, which saves a third of the time. */
function unpackedText(data: Uint8Array): string {
  // Without a spare byte, zstd would allocate another buffer to find out that nothing follows.
  const chunkSize = Math.max(MIN_CHUNK_BYTES, unpackedBytes(data) + 1)
  return textOf(zstdDecompressSync(data, { chunkSize }))
}

/** Most rows are plain ASCII, which decodes faster as latin1. */
function textOf(bytes: Uint8Array): string {
  const { buffer, byteOffset, byteLength } = bytes
  return Buffer.from(buffer, byteOffset, byteLength).toString(isAscii(bytes) ? 'latin1' : 'utf8')
}

/** The minimum that Node.js allows. */
const MIN_CHUNK_BYTES = 64
const UNKNOWN_BYTES = 64 * 1024

/** The content size from the header of a single-segment frame (RFC 8878, 3.1.1.1). */
function unpackedBytes(frame: Uint8Array): number {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  const descriptor = view.getUint8(4)
  if (descriptor >>> 5 === 0) return UNKNOWN_BYTES
  const at = (descriptor & 0b10_0000) === 0 ? 6 : 5
  if (descriptor >>> 6 === 0) return view.getUint8(at)
  return descriptor >>> 6 === 1 ? view.getUint16(at, true) + 256 : view.getUint32(at, true)
}

function distances(values: readonly number[]): number[] {
  return values.map((value, i) => value - (values[i - 1] ?? 0))
}

function sums(values: readonly number[]): number[] {
  let sum = 0
  return values.map((value) => {
    sum += value
    return sum
  })
}
