import type { DatabaseSync } from 'node:sqlite'
import { type BookSides, bookText, diffText, type Levels, unpackBooks } from '../../core/rows/book.ts'
import { BOOK_FIELDS } from '../../core/rows/snapshot.ts'
import { Lru } from '../../kit/lru.ts'
import type { BookRequest } from '../series.ts'
import { decodeBlock, minuteOf } from './books-block.ts'
import type { StoredRow } from './series-page.ts'
import { stepEnd } from './series-sample.ts'

/** Decoded minutes that are kept: neighbouring pages read the same minutes. */
const MAX_CACHED_BYTES = 64 * 1024 * 1024
const BYTES_PER_LEVEL = 16

interface StoredBook {
  text: string
  sides: readonly Levels[]
}

interface Minute {
  version: number
  rows: Map<string, StoredBook>
  bytes: number
}

export interface BookReader {
  /** The rows' texts, with books and diffs composed into them where asked, in the same order. */
  texts(rows: readonly StoredRow[], request: BookRequest | undefined, stepMs: number | undefined): string[]
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
    'SELECT text, sides FROM books_tail WHERE feed = ? AND minute = ? AND instrument = ? AND ts = ? AND seq = ?',
  )
  const before = database.prepare(
    `SELECT ts, seq FROM series_rows INDEXED BY series_rows_by_instrument
      WHERE feed = ? AND instrument = ? AND instrument <> '' AND (ts, seq) < (?, ?)
      ORDER BY ts DESC, seq DESC LIMIT 1`,
  )
  const minutes = new Lru<string, Minute>({
    maxEntries: 10_000,
    maxWeight: MAX_CACHED_BYTES,
    weigh: (minute) => minute.bytes,
  })

  const readMinute = (feed: number, instrument: string, minute: number): Minute | undefined => {
    const stored = version.get(feed, instrument, minute)
    if (stored === undefined) return undefined
    const key = `${feed}/${minute}/${instrument}`
    const hit = minutes.get(key)
    if (hit !== undefined && hit.version === stored.version) return hit
    const data = block.get(feed, instrument, minute)?.data
    if (data === undefined) return undefined
    const rows = new Map<string, StoredBook>()
    let bytes = 0
    for (const entry of decodeBlock(data as Uint8Array, minute)) {
      rows.set(`${entry.ts}/${entry.seq}`, entry)
      bytes += entry.text.length
      for (const side of entry.sides) bytes += side.length * BYTES_PER_LEVEL
    }
    const read = { version: Number(stored.version), rows, bytes }
    minutes.set(key, read)
    return read
  }

  /** Reads rows that mostly share a few minutes; lives for one page. */
  const pageBooks = () => {
    const tails = new Map<string, boolean>()
    const loaded = new Map<string, Minute | undefined>()
    return (feed: number, instrument: string, ts: number, seq: number): StoredBook | undefined => {
      const minute = minuteOf(ts)
      const tailKey = `${feed}/${minute}`
      let inTail = tails.get(tailKey)
      if (inTail === undefined) {
        inTail = anyTail.get(feed, minute) !== undefined
        tails.set(tailKey, inTail)
      }
      if (inTail) {
        const row = tail.get(feed, minute, instrument, ts, seq)
        if (row !== undefined) return { text: String(row.text), sides: unpackBooks(String(row.sides)) }
      }
      const key = `${tailKey}/${instrument}`
      if (!loaded.has(key)) loaded.set(key, readMinute(feed, instrument, minute))
      return loaded.get(key)?.rows.get(`${ts}/${seq}`)
    }
  }

  return {
    texts(rows, request, stepMs) {
      const bookOf = pageBooks()
      /** Per instrument, the row before in time; rows are visited oldest first. */
      const previous = new Map<string, StoredBook>()
      const texts = new Array<string>(rows.length)
      const ascending = (rows[0]?.position.ts ?? 0) <= (rows.at(-1)?.position.ts ?? 0)

      const rowBefore = (row: StoredRow): StoredBook | undefined => {
        const { instrument, ts, seq } = row.position
        const known = previous.get(`${row.feed}/${instrument}`)
        if (known !== undefined) return known
        const border = stepMs === undefined ? ts : stepEnd(ts, stepMs) - stepMs
        const found = before.get(
          row.feed,
          instrument,
          border,
          stepMs === undefined ? seq : Number.MAX_SAFE_INTEGER,
        )
        return found === undefined
          ? undefined
          : bookOf(row.feed, instrument, Number(found.ts), Number(found.seq))
      }

      for (let i = 0; i < rows.length; i++) {
        const at = ascending ? i : rows.length - 1 - i
        const row = rows[at]
        if (row === undefined) continue
        const { instrument, ts, seq, source } = row.position
        const fields = BOOK_FIELDS[source]
        if (row.text !== '' || fields === undefined) {
          texts[at] = row.text
          continue
        }
        const stored = bookOf(row.feed, instrument, ts, seq)
        if (stored === undefined) throw new Error(`the books of ${source} ${instrument} at ${ts} are missing`)
        let text = stored.text
        if (request?.books) {
          const [first, second] = [sidesOf(stored.sides, 0), sidesOf(stored.sides, 2)]
          text = `${text.slice(0, -1)},"${fields[0]}":${bookText(first, request.depth)},"${fields[1]}":${bookText(second, request.depth)}}`
        }
        if (request?.diffs) {
          const old = rowBefore(row)
          previous.set(`${row.feed}/${instrument}`, stored)
          const diffs = old
            ? diffText(sidesOf(old.sides, 0), sidesOf(stored.sides, 0), request.depth)
            : 'null'
          text = `${text.slice(0, -1)},"diffs":${diffs}}`
        }
        texts[at] = text
      }
      return texts
    },
  }
}

function sidesOf(books: readonly Levels[], first: 0 | 2): BookSides {
  return { bids: books[first] ?? [], asks: books[first + 1] ?? [] }
}
