import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { unpackBooks } from '../../core/rows/book.ts'
import { type BookEntry, decodeBlock, encodeBlock, minuteOf } from './books-block.ts'

export interface BookWriter {
  put(feed: number, instrument: string, ts: number, seq: number, packed: string): void
  /** The stored books of a row in their storage form. */
  get(feed: number, instrument: string, ts: number, seq: number): string | undefined
  /** Moves the books of every minute but the feed's newest into blocks. */
  fold(feed: number): void
}

/** Tells books apart without reading them back: 48 bits of content. */
export function booksDigest(packed: string): number {
  return crc32(packed) * 0x1_0000 + (packed.length & 0xffff)
}

export function bookWriter(database: DatabaseSync): BookWriter {
  const put = database.prepare('INSERT OR REPLACE INTO books_tail VALUES (?, ?, ?, ?, ?, ?)')
  const tailRow = database.prepare(
    'SELECT sides FROM books_tail WHERE feed = ? AND minute = ? AND instrument = ? AND ts = ? AND seq = ?',
  )
  const foldable = database.prepare(
    `SELECT DISTINCT minute, instrument FROM books_tail
      WHERE feed = ?1 AND minute < (SELECT max(minute) FROM books_tail WHERE feed = ?1)`,
  )
  const tail = database.prepare(
    'SELECT ts, seq, sides FROM books_tail WHERE feed = ? AND minute = ? AND instrument = ? ORDER BY ts, seq',
  )
  const clear = database.prepare('DELETE FROM books_tail WHERE feed = ? AND minute = ? AND instrument = ?')
  const block = database.prepare(
    'SELECT data FROM books_blocks WHERE feed = ? AND instrument = ? AND minute = ?',
  )
  const store = database.prepare(
    `INSERT INTO books_blocks (feed, instrument, minute, version, data) VALUES (?, ?, ?, 1, ?)
      ON CONFLICT (feed, instrument, minute) DO UPDATE SET data = excluded.data, version = version + 1`,
  )

  const readBlock = (feed: number, instrument: string, minute: number): BookEntry[] => {
    const found = block.get(feed, instrument, minute)
    return found === undefined ? [] : decodeBlock(found.data as Uint8Array, minute)
  }

  return {
    put(feed, instrument, ts, seq, packed) {
      put.run(feed, minuteOf(ts), instrument, ts, seq, packed)
    },
    get(feed, instrument, ts, seq) {
      const minute = minuteOf(ts)
      const found = tailRow.get(feed, minute, instrument, ts, seq)
      if (found !== undefined) return String(found.sides)
      const entry = readBlock(feed, instrument, minute).find((e) => e.ts === ts && e.seq === seq)
      return entry?.sides.map((levels) => levels.join(';')).join('|')
    },
    fold(feed) {
      for (const group of foldable.all(feed)) {
        const minute = Number(group.minute)
        const instrument = String(group.instrument)
        const entries = new Map<string, BookEntry>()
        for (const entry of readBlock(feed, instrument, minute))
          entries.set(`${entry.ts}/${entry.seq}`, entry)
        for (const row of tail.all(feed, minute, instrument)) {
          const ts = Number(row.ts)
          const seq = Number(row.seq)
          entries.set(`${ts}/${seq}`, { ts, seq, sides: unpackBooks(String(row.sides)) })
        }
        const sorted = [...entries.values()].sort((a, b) => a.ts - b.ts || a.seq - b.seq)
        store.run(feed, instrument, minute, encodeBlock(sorted))
        clear.run(feed, minute, instrument)
      }
    },
  }
}
