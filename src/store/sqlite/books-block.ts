/**
 * A minute of snapshots of one instrument as one compressed block: light rows and books. Books are written as
 * the difference to the row before: per side one replaced stretch of levels. Rows and books change little
 * between samples, so a block is a small fraction of its content, and any row is at most a minute of cheap
 * replacements away.
 *
 *   line:  ms within the minute | seq | side | side | side | side | text of the light row
 *   side:  '' (unchanged) or  start,removed,level;level;…
 */
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Levels } from '../../core/rows/book.ts'

export const MINUTE_MS = 60_000

export interface BookEntry {
  ts: number
  seq: number
  /** The light row. */
  text: string
  sides: readonly Levels[]
}

const SIDES = 4

const NO_LEVELS: Levels = []

export function minuteOf(ts: number): number {
  return Math.floor(ts / MINUTE_MS)
}

/** Entries sorted by (ts, seq). */
export function encodeBlock(entries: readonly BookEntry[]): Uint8Array {
  let before: readonly Levels[] = []
  const lines = entries.map((entry) => {
    const sides = entry.sides.map((levels, side) => replacement(before[side] ?? NO_LEVELS, levels))
    before = entry.sides
    return `${entry.ts % MINUTE_MS}|${entry.seq}|${sides.join('|')}|${entry.text}`
  })
  return zstdCompressSync(Buffer.from(lines.join('\n')))
}

export function decodeBlock(data: Uint8Array, minute: number): BookEntry[] {
  let before: readonly Levels[] = []
  return zstdDecompressSync(data)
    .toString()
    .split('\n')
    .map((line) => {
      const fields: string[] = []
      let at = 0
      while (fields.length < SIDES + 2) {
        const end = line.indexOf('|', at)
        fields.push(line.slice(at, end))
        at = end + 1
      }
      const [offset, seq, ...changes] = fields
      const sides = changes.map((change, side) => replaced(before[side] ?? NO_LEVELS, change))
      before = sides
      return { ts: minute * MINUTE_MS + Number(offset), seq: Number(seq), sides, text: line.slice(at) }
    })
}

function replacement(before: Levels, after: Levels): string {
  let start = 0
  const shorter = Math.min(before.length, after.length)
  while (start < shorter && before[start] === after[start]) start++
  let end = 0
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  const removed = before.length - end - start
  if (removed === 0 && after.length === before.length) return ''
  return `${start},${removed},${after.slice(start, after.length - end).join(';')}`
}

function replaced(before: Levels, change: string): Levels {
  if (change === '') return before
  const first = change.indexOf(',')
  const second = change.indexOf(',', first + 1)
  const start = Number(change.slice(0, first))
  const removed = Number(change.slice(first + 1, second))
  const added = second + 1 === change.length ? NO_LEVELS : change.slice(second + 1).split(';')
  return [...before.slice(0, start), ...added, ...before.slice(start + removed)]
}
