/**
 * Writes snapshots and trades of prediction markets. A *group* is one instrument over one span of ten minutes: a row of
 * book_groups, a compressed block, and a tail of rows that are not in the block yet. A row of the tail replaces one of
 * the block.
 *
 *   row ──▶ tail ──fold──▶ block     when the tail is long, or the feed has gone on to the next span
 */
import type { DatabaseSync } from 'node:sqlite'
import { Lru } from '../../kit/lru.ts'
import { decodeBlock, encodeBlock, spanOf } from '../books/block.ts'
import { type BookRow, compareKeys, packedOf, sidesOf } from '../books/book-row.ts'

/** A light row and its books, as they are sent to the writer. */
interface IncomingBooks {
  ts: number
  seq: number
  text: string
  packed: string
}

type BookOutcome =
  | { kind: 'inserted' | 'unchanged' }
  /** What was there before. */
  | { kind: 'corrected'; text: string; packed: string; recordedAt: number }

export interface BookWriter {
  put(feed: number, instrument: string, row: IncomingBooks, recordedAt: number): BookOutcome
  /** Folds tails that are long or whose span is over, up to that many of the latter. */
  fold(feed: number, atMost: number): void
  /** Deletes rows before an instant, of up to that many groups. */
  cut(feed: number, olderThan: number, atMost: number): { deleted: number; more: boolean }
  forget(): void
}

/** Half a minute of the full grid. A longer tail is read slower, a shorter one is folded more often. */
const MAX_TAIL_ROWS = 60
const MAX_KNOWN_GROUPS = 20_000
/** Levels of blocks that are unpacked to compare rows that arrive again. */
const MAX_UNPACKED_LEVELS = 4_000_000

interface Group {
  id: number
  span: number
  /** Times of the first and the last row in the block; empty when first is above last. */
  firstTs: number
  lastTs: number
  tailRows: number
}

export function bookWriter(database: DatabaseSync): BookWriter {
  const {
    find,
    create,
    markWaiting,
    settle,
    remove,
    countTail,
    put,
    tailRow,
    tail,
    clear,
    block,
    store,
    unstore,
    over,
    older,
    atBorder,
  } = prepared(database)
  const groups = new Map<string, Group>()
  const long = new Map<number, Map<string, Group>>()
  const unpacked = new Lru<number, BookRow[]>({
    maxEntries: 1_000,
    maxWeight: MAX_UNPACKED_LEVELS,
    weigh: (rows) => rows.reduce((sum, row) => sum + 10 + 2 * (row.sides[0]?.prices.length ?? 0), 0),
  })

  const groupOf = (feed: number, span: number, instrument: string): Group => {
    const key = `${feed}/${span}/${instrument}`
    const known = groups.get(key)
    if (known !== undefined) return known
    const found = find.get(feed, span, instrument)
    const group: Group =
      found === undefined
        ? {
            id: Number(create.run(feed, span, instrument).lastInsertRowid),
            span,
            firstTs: 1,
            lastTs: 0,
            tailRows: 0,
          }
        : {
            id: Number(found.id),
            span,
            firstTs: Number(found.first_ts),
            lastTs: Number(found.last_ts),
            tailRows: found.waiting === 1 ? Number(countTail.get(Number(found.id))?.n) : 0,
          }
    if (groups.size >= MAX_KNOWN_GROUPS) groups.clear()
    groups.set(key, group)
    return group
  }

  const readBlock = (id: number, span: number): BookRow[] => {
    const found = block.get(id)
    return found === undefined ? [] : decodeBlock(found.data as Uint8Array, span).rows()
  }

  const inBlock = (group: Group, ts: number, seq: number): BookRow | undefined => {
    if (ts < group.firstTs || ts > group.lastTs) return undefined
    let rows = unpacked.get(group.id)
    if (rows === undefined) {
      rows = readBlock(group.id, group.span)
      unpacked.set(group.id, rows)
    }
    let [low, high] = [0, rows.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareKeys(rows[middle] as BookRow, { ts, seq }) < 0) low = middle + 1
      else high = middle
    }
    const row = rows[low]
    return row !== undefined && row.ts === ts && row.seq === seq ? row : undefined
  }

  const current = (group: Group, ts: number, seq: number) => {
    const waiting = group.tailRows === 0 ? undefined : tailRow.get(group.id, ts, seq)
    if (waiting !== undefined)
      return {
        text: String(waiting.text),
        packed: String(waiting.sides),
        recordedAt: Number(waiting.recorded_at),
      }
    const row = inBlock(group, ts, seq)
    return row === undefined
      ? undefined
      : { text: row.text, packed: packedOf(row), recordedAt: row.recordedAt }
  }

  /** Replaces the rows of a group; without rows it is deleted. */
  const rewrite = (id: number, rows: readonly BookRow[]) => {
    clear.run(id)
    unpacked.delete(id)
    const [first, last] = [rows[0], rows.at(-1)]
    if (first === undefined || last === undefined) {
      unstore.run(id)
      remove.run(id)
      return
    }
    store.run(id, encodeBlock(rows))
    settle.run(first.ts, last.ts, rows.length, id)
  }

  const allRows = (id: number, span: number): BookRow[] => {
    const rows = new Map<string, BookRow>()
    for (const row of readBlock(id, span)) rows.set(`${row.ts}/${row.seq}`, row)
    for (const found of tail.all(id)) {
      const [ts, seq] = [Number(found.ts), Number(found.seq)]
      const sides = sidesOf(String(found.sides))
      const row = { ts, seq, recordedAt: Number(found.recorded_at), text: String(found.text), sides }
      rows.set(`${ts}/${seq}`, row)
    }
    return [...rows.values()].sort(compareKeys)
  }

  const foldGroup = (id: number, span: number): BookRow[] => {
    const rows = allRows(id, span)
    rewrite(id, rows)
    return rows
  }

  return {
    put(feed, instrument, row, recordedAt) {
      const span = spanOf(row.ts)
      const group = groupOf(feed, span, instrument)
      const old = current(group, row.ts, row.seq)
      if (old !== undefined && old.text === row.text && old.packed === row.packed)
        return { kind: 'unchanged' }
      put.run(group.id, row.ts, row.seq, recordedAt, row.text, row.packed)
      if (group.tailRows === 0) markWaiting.run(group.id)
      group.tailRows++
      if (group.tailRows >= MAX_TAIL_ROWS) {
        const ofFeed = long.get(feed) ?? new Map<string, Group>()
        ofFeed.set(`${feed}/${span}/${instrument}`, group)
        long.set(feed, ofFeed)
      }
      return old === undefined ? { kind: 'inserted' } : { kind: 'corrected', ...old }
    },
    fold(feed, atMost) {
      for (const group of long.get(feed)?.values() ?? []) {
        const rows = foldGroup(group.id, group.span)
        group.firstTs = rows[0]?.ts ?? 1
        group.lastTs = rows.at(-1)?.ts ?? 0
        group.tailRows = 0
      }
      long.delete(feed)
      for (const { id, span, instrument } of over.all(feed, atMost)) {
        foldGroup(Number(id), Number(span))
        groups.delete(`${feed}/${span}/${instrument}`)
      }
    },
    cut(feed, olderThan, atMost) {
      groups.clear()
      long.clear()
      const border = spanOf(olderThan)
      let deleted = 0
      const wholly = older.all(feed, border, atMost)
      for (const { id, span, rows } of wholly) {
        const hasTail = Number(countTail.get(Number(id))?.n) > 0
        deleted += hasTail ? allRows(Number(id), Number(span)).length : Number(rows)
        rewrite(Number(id), [])
      }
      if (wholly.length === atMost) return { deleted, more: true }
      for (const { id, span } of atBorder.all(feed, border)) {
        const rows = allRows(Number(id), Number(span))
        const kept = rows.filter(({ ts }) => ts >= olderThan)
        if (kept.length === rows.length) continue
        deleted += rows.length - kept.length
        rewrite(Number(id), kept)
      }
      return { deleted, more: false }
    },
    forget() {
      groups.clear()
      long.clear()
      unpacked.clear()
    },
  }
}

function prepared(database: DatabaseSync) {
  return {
    find: database.prepare(
      'SELECT id, first_ts, last_ts, waiting FROM book_groups WHERE feed = ? AND span = ? AND instrument = ?',
    ),
    create: database.prepare(
      `INSERT INTO book_groups (feed, span, instrument, waiting, version, first_ts, last_ts, rows)
      VALUES (?, ?, ?, 0, 0, 1, 0, 0)`,
    ),
    markWaiting: database.prepare('UPDATE book_groups SET waiting = 1 WHERE id = ?'),
    settle: database.prepare(
      `UPDATE book_groups SET waiting = 0, version = version + 1, first_ts = ?, last_ts = ?, rows = ? WHERE id = ?`,
    ),
    remove: database.prepare('DELETE FROM book_groups WHERE id = ?'),
    countTail: database.prepare('SELECT count(*) AS n FROM book_tail WHERE block = ?'),
    put: database.prepare('INSERT OR REPLACE INTO book_tail VALUES (?, ?, ?, ?, ?, ?)'),
    tailRow: database.prepare(
      'SELECT recorded_at, text, sides FROM book_tail WHERE block = ? AND ts = ? AND seq = ?',
    ),
    tail: database.prepare('SELECT ts, seq, recorded_at, text, sides FROM book_tail WHERE block = ?'),
    clear: database.prepare('DELETE FROM book_tail WHERE block = ?'),
    block: database.prepare('SELECT data FROM book_blocks WHERE id = ?'),
    store: database.prepare('INSERT OR REPLACE INTO book_blocks (id, data) VALUES (?, ?)'),
    unstore: database.prepare('DELETE FROM book_blocks WHERE id = ?'),
    over: database.prepare(
      `SELECT id, span, instrument FROM book_groups WHERE waiting = 1 AND feed = ?1
      AND span < (SELECT max(span) FROM book_groups WHERE feed = ?1) LIMIT ?2`,
    ),
    older: database.prepare(
      'SELECT id, span, rows FROM book_groups WHERE feed = ? AND span < ? ORDER BY span LIMIT ?',
    ),
    atBorder: database.prepare('SELECT id, span FROM book_groups WHERE feed = ? AND span = ?'),
  }
}
