/**
 * The step from version 1 of the schema, which kept prints in series_rows like all rows, and of snapshots the keys;
 * their content lay in blocks of a minute, written line by line:
 *
 *   line:  ms within the minute | seq | side | side | side | side | text of the light row
 *   side:  '' (unchanged) or  start,removed,level;level;…
 */
import type { DatabaseSync } from 'node:sqlite'
import { zstdDecompressSync } from 'node:zlib'
import { SPAN_MS } from '../books/block.ts'
import { NO_BOOKS } from '../books/book-row.ts'
import { type BookWriter, bookWriter } from './books-write.ts'

const MINUTE_MS = 60_000
const SIDES = 4
const MINUTES_PER_SPAN = SPAN_MS / MINUTE_MS
const FOLDS_AT_ONCE = 1_000

interface OldRow {
  ts: number
  seq: number
  text: string
  packed: string
}

export function convertBooks(database: DatabaseSync): void {
  const spans = database
    .prepare(
      `SELECT feed, instrument, minute / ${MINUTES_PER_SPAN} AS span FROM books_blocks
        UNION SELECT feed, instrument, minute / ${MINUTES_PER_SPAN} FROM books_tail ORDER BY feed, span, instrument`,
    )
    .all()
  const blocks = database.prepare(
    'SELECT minute, data FROM books_blocks WHERE feed = ? AND instrument = ? AND minute BETWEEN ? AND ? ORDER BY minute',
  )
  const tail = database.prepare(
    `SELECT ts, seq, text, sides FROM books_tail
      WHERE feed = ? AND instrument = ? AND minute BETWEEN ? AND ? ORDER BY ts, seq`,
  )
  const recorded = database.prepare(
    'SELECT recorded_at FROM series_rows WHERE feed = ? AND ts = ? AND instrument = ? AND seq = ?',
  )
  const writer = bookWriter(database)
  for (const found of spans) {
    const feed = Number(found.feed)
    const instrument = String(found.instrument)
    const first = Number(found.span) * MINUTES_PER_SPAN
    const minutes = [feed, instrument, first, first + MINUTES_PER_SPAN - 1] as const
    const rows = new Map<string, OldRow>()
    for (const { minute, data } of blocks.all(...minutes)) {
      for (const row of readMinute(data as Uint8Array, Number(minute))) rows.set(`${row.ts}/${row.seq}`, row)
    }
    for (const { ts, seq, text, sides } of tail.all(...minutes)) {
      const row = { ts: Number(ts), seq: Number(seq), text: String(text), packed: String(sides) }
      rows.set(`${row.ts}/${row.seq}`, row)
    }
    for (const row of rows.values()) {
      // A row that retention has deleted may lie in a block that it left.
      const known = recorded.get(feed, row.ts, instrument, row.seq)
      if (known !== undefined) writer.put(feed, instrument, row, Number(known.recorded_at))
    }
    writer.fold(feed, FOLDS_AT_ONCE)
  }
  convertPrints(database, writer)
  database.exec(`
    DELETE FROM series_active WHERE feed IN (SELECT DISTINCT feed FROM book_groups);
    DELETE FROM series_rows WHERE books IS NOT NULL;
    DROP TABLE books_tail;
    DROP TABLE books_blocks;
    ALTER TABLE series_rows DROP COLUMN books;
  `)
}

/** Prints lay in series_rows as a whole. */
function convertPrints(database: DatabaseSync, writer: BookWriter): void {
  const feeds = database
    .prepare(`SELECT id FROM feeds WHERE dataset = 'trades' AND source IN ('predmkt_a', 'predmkt_b')`)
    .all()
  const rows = database.prepare(
    'SELECT ts, instrument, seq, text, recorded_at FROM series_rows WHERE feed = ? ORDER BY ts, instrument, seq',
  )
  const remove = database.prepare('DELETE FROM series_rows WHERE feed = ?')
  for (const { id } of feeds) {
    const feed = Number(id)
    let written = 0
    for (const row of rows.iterate(feed)) {
      const print = { ts: Number(row.ts), seq: Number(row.seq), text: String(row.text), packed: NO_BOOKS }
      writer.put(feed, String(row.instrument), print, Number(row.recorded_at))
      if (++written % FOLDS_AT_ONCE === 0) writer.fold(feed, FOLDS_AT_ONCE)
    }
    writer.fold(feed, FOLDS_AT_ONCE)
    remove.run(feed)
  }
}

function readMinute(data: Uint8Array, minute: number): OldRow[] {
  let before: readonly (readonly string[])[] = []
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
      const sides = changes.map((change, side) => replaced(before[side] ?? [], change))
      before = sides
      return {
        ts: minute * MINUTE_MS + Number(offset),
        seq: Number(seq),
        text: line.slice(at),
        packed: sides.map((levels) => levels.join(';')).join('|'),
      }
    })
}

function replaced(before: readonly string[], change: string): readonly string[] {
  if (change === '') return before
  const first = change.indexOf(',')
  const second = change.indexOf(',', first + 1)
  const start = Number(change.slice(0, first))
  const removed = Number(change.slice(first + 1, second))
  const added = second + 1 === change.length ? [] : change.slice(second + 1).split(';')
  return [...before.slice(0, start), ...added, ...before.slice(start + removed)]
}
