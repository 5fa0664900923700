/**
 * Many closed rows of a feed in one compressed block: rows of one kind share most of their text, and take a tenth of
 * the room. Its first line has the columns beside the texts, each only where a row has one that is not the usual.
 */
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { type Feed, hasOneRowPerInstant } from '../../core/feed.ts'

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
  /** The first is whole, the others are the distance from the one before; the same for `recorded`. */
  ts: number[]
  recorded: number[]
  instruments?: string[]
  seqs?: number[]
  sides?: (string | null)[]
  usd?: (number | null)[]
  revisions?: number[]
}

/** Most blocks are unpacked into one buffer of it. */
const CHUNK_BYTES = 64 * 1024

/** Feeds whose rows may lie in blocks: those of many instruments are read by instrument, and snapshots are sampled. */
export function isPacked(feed: Feed): boolean {
  return hasOneRowPerInstant(feed) || (feed.dataset === 'trades' && feed.source === 'perpdex')
}

export function encodeRows(rows: readonly BlockRow[]): Uint8Array {
  const unless = <K extends string, T>(name: K, usual: T, values: T[]) =>
    values.every((value) => value === usual) ? {} : { [name]: values }
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
  // No row contains a line break.
  return zstdCompressSync([JSON.stringify(columns), ...rows.map(({ text }) => text)].join('\n'))
}

export function decodeRows(data: Uint8Array): BlockRow[] {
  const [head = '', ...texts] = zstdDecompressSync(data, { chunkSize: CHUNK_BYTES }).toString().split('\n')
  const columns = JSON.parse(head) as Columns
  const [times, recorded] = [sums(columns.ts), sums(columns.recorded)]
  return texts.map((text, i) => ({
    ts: times[i] ?? 0,
    instrument: columns.instruments?.[i] ?? '',
    seq: columns.seqs?.[i] ?? 0,
    text,
    side: columns.sides?.[i] ?? null,
    usd: columns.usd?.[i] ?? null,
    revision: columns.revisions?.[i] ?? 1,
    recordedAt: recorded[i] ?? 0,
  }))
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
