import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { unpackBooks } from '../../core/rows/book.ts'
import { type BookEntry, decodeBlock, encodeBlock, minuteOf } from './books-block.ts'

/** A light row and its books in their storage form. */
export interface BookRow {
  text: string
  packed: string
}

export interface BookWriter {
  put(feed: number, instrument: string, ts: number, seq: number, row: BookRow): void
  get(feed: number, instrument: string, ts: number, seq: number): BookRow | undefined
  /** Moves the books of every minute but the feed's newest into blocks, up to that many blocks. */
  fold(feed: number, atMost: number): void
}

/** Tells rows with books apart without reading them back: 48 bits of their content. */
export function booksDigest(row: BookRow): number {
  const length = row.packed.length + row.text.length
  return crc32(row.packed, crc32(row.text)) * 0x1_0000 + (length & 0xffff)
}

export function bookWriter(database: DatabaseSync): BookWriter {
  const put = database.prepare('INSERT OR REPLACE INTO books_tail VALUES (?, ?, ?, ?, ?, ?, ?)')
  const tailRow = database.prepare(
    'SELECT text, sides FROM books_tail WHERE feed = ? AND minute = ? AND instrument = ? AND ts = ? AND seq = ?',
  )
  const foldable = database.prepare(
    `SELECT DISTINCT minute, instrument FROM books_tail
      WHERE feed = ?1 AND minute < (SELECT max(minute) FROM books_tail WHERE feed = ?1) LIMIT ?2`,
  )
  const tail = database.prepare(
    'SELECT ts, seq, text, sides FROM books_tail WHERE feed = ? AND minute = ? AND instrument = ? ORDER BY ts, seq',
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
    put(feed, instrument, ts, seq, row) {
      put.run(feed, minuteOf(ts), instrument, ts, seq, row.text, row.packed)
    },
    get(feed, instrument, ts, seq) {
      const minute = minuteOf(ts)
      const found = tailRow.get(feed, minute, instrument, ts, seq)
      if (found !== undefined) return { text: String(found.text), packed: String(found.sides) }
      const entry = readBlock(feed, instrument, minute).find((e) => e.ts === ts && e.seq === seq)
      if (entry === undefined) return undefined
      return { text: entry.text, packed: entry.sides.map((levels) => levels.join(';')).join('|') }
    },
    fold(feed, atMost) {
      for (const group of foldable.all(feed, atMost)) {
        const minute = Number(group.minute)
        const instrument = String(group.instrument)
        const entries = new Map<string, BookEntry>()
        for (const entry of readBlock(feed, instrument, minute))
          entries.set(`${entry.ts}/${entry.seq}`, entry)
        for (const row of tail.all(feed, minute, instrument)) {
          const ts = Number(row.ts)
          const seq = Number(row.seq)
          const sides = unpackBooks(String(row.sides))
          entries.set(`${ts}/${seq}`, { ts, seq, text: String(row.text), sides })
        }
        const sorted = [...entries.values()].sort((a, b) => a.ts - b.ts || a.seq - b.seq)
        store.run(feed, instrument, minute, encodeBlock(sorted))
        clear.run(feed, minute, instrument)
      }
    },
  }
}
