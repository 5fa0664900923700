import type { DatabaseSync } from 'node:sqlite'
import { type BookSides, bookText, diffText, type Levels, unpackBooks } from '../../core/rows/book.ts'
import { BOOK_FIELDS } from '../../core/rows/snapshot.ts'
import { Lru } from '../../kit/lru.ts'
import type { BookRequest } from '../series.ts'
import { decodeBlock, minuteOf } from './books-block.ts'
import type { StoredRow } from './series-page.ts'
import { stepEnd } from './series-sample.ts'

/** Decoded minutes that are kept, in levels: neighbouring pages read the same minutes. */
const MAX_CACHED_LEVELS = 4_000_000

interface Minute {
  version: number
  sides: Map<string, readonly Levels[]>
  levels: number
}

export interface BookReader {
  /** The rows' texts with books and diffs composed into them, in the same order. */
  compose(rows: readonly StoredRow[], request: BookRequest, stepMs: number | undefined): string[]
}

export function bookReader(database: DatabaseSync): BookReader {
  const version = database.prepare(
    'SELECT version FROM books_blocks WHERE feed = ? AND instrument = ? AND minute = ?',
  )
  const block = database.prepare(
    'SELECT data FROM books_blocks WHERE feed = ? AND instrument = ? AND minute = ?',
  )
  const anyTail = database.prepare('SELECT 1 FROM books_tail WHERE feed = ? AND minute = ? LIMIT 1')
  const tail = database.prepare(
    'SELECT sides FROM books_tail WHERE feed = ? AND minute = ? AND instrument = ? AND ts = ? AND seq = ?',
  )
  const before = database.prepare(
    `SELECT ts, seq FROM series_rows INDEXED BY series_rows_by_instrument
      WHERE feed = ? AND instrument = ? AND instrument <> '' AND (ts, seq) < (?, ?)
      ORDER BY ts DESC, seq DESC LIMIT 1`,
  )
  const minutes = new Lru<string, Minute>({
    maxEntries: 10_000,
    maxWeight: MAX_CACHED_LEVELS,
    weigh: (minute) => minute.levels,
  })

  const readMinute = (feed: number, instrument: string, minute: number): Minute | undefined => {
    const stored = version.get(feed, instrument, minute)
    if (stored === undefined) return undefined
    const key = `${feed}/${minute}/${instrument}`
    const hit = minutes.get(key)
    if (hit !== undefined && hit.version === stored.version) return hit
    const data = block.get(feed, instrument, minute)?.data
    if (data === undefined) return undefined
    const sides = new Map<string, readonly Levels[]>()
    let levels = 0
    for (const entry of decodeBlock(data as Uint8Array, minute)) {
      sides.set(`${entry.ts}/${entry.seq}`, entry.sides)
      for (const side of entry.sides) levels += side.length
    }
    const read = { version: Number(stored.version), sides, levels }
    minutes.set(key, read)
    return read
  }

  /** Reads books of rows that mostly share a few minutes; lives for one page. */
  const pageBooks = () => {
    const tails = new Map<string, boolean>()
    const loaded = new Map<string, Minute | undefined>()
    return (feed: number, instrument: string, ts: number, seq: number): readonly Levels[] | undefined => {
      const minute = minuteOf(ts)
      const tailKey = `${feed}/${minute}`
      let inTail = tails.get(tailKey)
      if (inTail === undefined) {
        inTail = anyTail.get(feed, minute) !== undefined
        tails.set(tailKey, inTail)
      }
      if (inTail) {
        const row = tail.get(feed, minute, instrument, ts, seq)
        if (row !== undefined) return unpackBooks(String(row.sides))
      }
      const key = `${tailKey}/${instrument}`
      if (!loaded.has(key)) loaded.set(key, readMinute(feed, instrument, minute))
      return loaded.get(key)?.sides.get(`${ts}/${seq}`)
    }
  }

  return {
    compose(rows, request, stepMs) {
      const booksOf = pageBooks()
      /** Per instrument, the books of the row before in time; rows are visited oldest first. */
      const previous = new Map<string, readonly Levels[] | undefined>()
      const texts = new Array<string>(rows.length)
      const ascending = (rows[0]?.position.ts ?? 0) <= (rows.at(-1)?.position.ts ?? 0)
      for (let i = 0; i < rows.length; i++) {
        const at = ascending ? i : rows.length - 1 - i
        const row = rows[at]
        if (row === undefined) continue
        const { instrument, ts, seq, source } = row.position
        const fields = BOOK_FIELDS[source]
        if (fields === undefined) {
          texts[at] = row.text
          continue
        }
        const books = booksOf(row.feed, instrument, ts, seq)
        let text = row.text.slice(0, -1)
        if (request.books && books !== undefined) {
          text += `,"${fields[0]}":${bookText(sidesOf(books, 0), request.depth)},"${fields[1]}":${bookText(sidesOf(books, 2), request.depth)}`
        }
        if (request.diffs) {
          const key = `${row.feed}/${instrument}`
          let old = previous.get(key)
          if (!previous.has(key)) {
            const border =
              stepMs === undefined ? [ts, seq] : [stepEnd(ts, stepMs) - stepMs, Number.MAX_SAFE_INTEGER]
            const found = before.get(row.feed, instrument, border[0] ?? 0, border[1] ?? 0)
            if (found !== undefined) old = booksOf(row.feed, instrument, Number(found.ts), Number(found.seq))
          }
          previous.set(key, books)
          const diffs =
            old === undefined || books === undefined
              ? 'null'
              : diffText(sidesOf(old, 0), sidesOf(books, 0), request.depth)
          text += `,"diffs":${diffs}`
        }
        texts[at] = `${text}}`
      }
      return texts
    },
  }
}

function sidesOf(books: readonly Levels[], first: 0 | 2): BookSides {
  return { bids: books[first] ?? [], asks: books[first + 1] ?? [] }
}
