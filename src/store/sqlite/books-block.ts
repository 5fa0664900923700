/**
 * A minute of books of one instrument as one compressed block. A row is written as the difference to the
 * row before: per side one replaced stretch of levels. Books change little between samples, so a block is a
 * small fraction of its books, and any row is at most a minute of cheap replacements away.
 *
 *   line:  ms within the minute | seq | side | side | side | side
 *   side:  '' (unchanged) or  start,removed,level;level;…
 */
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Levels } from '../../core/rows/book.ts'

export const MINUTE_MS = 60_000

export interface BookEntry {
  ts: number
  seq: number
  sides: readonly Levels[]
}

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
    return `${entry.ts % MINUTE_MS}|${entry.seq}|${sides.join('|')}`
  })
  return zstdCompressSync(Buffer.from(lines.join('\n')))
}

export function decodeBlock(data: Uint8Array, minute: number): BookEntry[] {
  let before: readonly Levels[] = []
  return zstdDecompressSync(data)
    .toString()
    .split('\n')
    .map((line) => {
      const [offset, seq, ...changes] = line.split('|')
      const sides = changes.map((change, side) => replaced(before[side] ?? NO_LEVELS, change))
      before = sides
      return { ts: minute * MINUTE_MS + Number(offset), seq: Number(seq), sides }
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
