/**
 * Writes snapshots and trades of prediction markets. A *group* is one instrument over a span of ten minutes: a row of
 * book_groups, compressed blocks, and a tail of rows that are in no block yet. A row in the tail takes precedence over
 * one in a block.
 *
 *   row ──▶ tail ──long, or the feed has moved on to the next span──▶ another block
 *
 * A block that is long enough is not rewritten, unless rows arrive that belong before its last row, or the group has
 * many blocks when its span is over.
 */
import type { DatabaseSync } from 'node:sqlite'
import { Lru } from '../../kit/lru.ts'
import { contentOf, decodeBlock, decodeBlocks, encodeBlock, spanOf } from '../books/block.ts'
import { type BookRow, compareKeys } from '../books/book-row.ts'
import { mergedRows, rowAt, tailRowOf } from '../books/group.ts'
import { packSides } from '../books/pack-sides.ts'

/** A light row and its books, as sent to the writer. */
interface IncomingBooks {
  ts: number
  seq: number
  text: string
  packed: Uint8Array
}

type BookOutcome =
  | { kind: 'inserted' | 'unchanged' }
  /** The row that was stored before. */
  | ({ kind: 'corrected' } & OldRow)

interface OldRow {
  text: string
  packed: Uint8Array
  recordedAt: number
}

/**
 * When a tail is folded into a block. A row in the tail takes ten times the space of one in a block, and a short block
 * takes twice as much per row as a long one. Most instruments have few rows, so a short tail is folded after some time.
 */
const MIN_BLOCK_ROWS = 32
const MAX_TAIL_ROWS = 128
const MAX_TAIL_MS = 60_000
/**
 * A group with this many blocks is rewritten as one after its span, because large blocks leave much of their pages
 * unused.
 */
const MAX_BLOCKS_LEFT = 4
const MAX_KNOWN_GROUPS = 20_000
/** Maximum number of levels in the cache of unpacked blocks, which are compared with rows that arrive again. */
const MAX_UNPACKED_LEVELS = 4_000_000

interface Group {
  readonly id: number
  readonly span: number
  /** Times of the first and the last row in the blocks; first is above last if there are none. */
  firstTs: number
  lastTs: number
  blocks: number
  tailRows: number
  /** Time of the first row put into the tail. */
  tailTs: number
}

const isLong = ({ tailRows, tailTs }: Group, ts: number) =>
  tailRows >= MAX_TAIL_ROWS || (tailRows >= MIN_BLOCK_ROWS && ts - tailTs >= MAX_TAIL_MS)

const keyOf = (feed: number, span: number, instrument: string) => `${feed}/${span}/${instrument}`

/** Its cache of groups is valid only while it is the only writer; call `forget` after a failed transaction. */
export class BookWriter {
  readonly #tables: GroupTables
  readonly #groups = new Map<string, Group>()
  /** Groups with long tails, by feed and id. */
  readonly #long = new Map<number, Map<number, Group>>()
  /** The newest span of each feed, and whether all groups of earlier spans are known to be folded. */
  readonly #newest = new Map<number, { span: number; isAlone: boolean }>()
  readonly #unpacked = new Lru<number, BookRow[]>({
    maxEntries: 1_000,
    maxWeight: MAX_UNPACKED_LEVELS,
    weigh: (rows) => rows.reduce((sum, row) => sum + 10 + 2 * (row.sides[0]?.prices.length ?? 0), 0),
  })

  constructor(database: DatabaseSync) {
    this.#tables = groupTables(database)
  }

  put(feed: number, instrument: string, row: IncomingBooks, recordedAt: number): BookOutcome {
    const span = spanOf(row.ts)
    const group = this.#groupOf(feed, span, instrument)
    const newest = this.#newest.get(feed)
    if (newest?.span !== span)
      this.#newest.set(feed, { span: Math.max(span, newest?.span ?? 0), isAlone: false })
    const old = this.#current(group, row.ts, row.seq)
    if (old !== undefined && old.text === row.text && isSame(old.packed, row.packed))
      return { kind: 'unchanged' }
    this.#tables.putTail(group.id, row, recordedAt)
    if (group.tailRows === 0) {
      this.#tables.markWaiting(group.id)
      group.tailTs = row.ts
    }
    group.tailRows++
    if (isLong(group, row.ts)) {
      const ofFeed = this.#long.get(feed) ?? new Map<number, Group>()
      this.#long.set(feed, ofFeed.set(group.id, group))
    }
    return old === undefined ? { kind: 'inserted' } : { kind: 'corrected', ...old }
  }

  /** Folds tails that are long or whose span is over, up to `atMost` of each. */
  fold(feed: number, atMost: number): void {
    const long = this.#long.get(feed)
    for (const group of [...(long?.values() ?? [])].slice(0, atMost)) {
      this.#foldTail(group)
      long?.delete(group.id)
    }
    if (long?.size === 0) this.#long.delete(feed)
    if (this.#newest.get(feed)?.isAlone === true) return
    const over = this.#tables.over(feed, atMost)
    for (const { span, instrument } of over) {
      const group = this.#groupOf(feed, span, instrument)
      if (group.blocks < MAX_BLOCKS_LEFT) this.#foldTail(group)
      else this.#rewrite(group.id, this.#allRows(group.id, span))
      long?.delete(group.id)
      this.#groups.delete(keyOf(feed, span, instrument))
    }
    const newest = this.#newest.get(feed)
    if (newest !== undefined) newest.isAlone = over.length < atMost
  }

  /** Deletes rows before an instant, up to `atMost` whole groups at a time. */
  cut(feed: number, olderThan: number, atMost: number): { deleted: number; more: boolean } {
    this.#groups.clear()
    this.#long.clear()
    this.#newest.clear()
    const border = spanOf(olderThan)
    let deleted = 0
    const wholly = this.#tables.before(feed, border, atMost)
    for (const { id, span, rows } of wholly) {
      deleted += this.#tables.countTail(id) > 0 ? this.#allRows(id, span).length : rows
      this.#rewrite(id, [])
    }
    if (wholly.length === atMost) return { deleted, more: true }
    for (const id of this.#tables.inSpan(feed, border)) {
      const rows = this.#allRows(id, border)
      const kept = rows.filter(({ ts }) => ts >= olderThan)
      if (kept.length === rows.length) continue
      deleted += rows.length - kept.length
      this.#rewrite(id, kept)
    }
    return { deleted, more: false }
  }

  forget(): void {
    this.#groups.clear()
    this.#newest.clear()
    this.#long.clear()
    this.#unpacked.clear()
  }

  #groupOf(feed: number, span: number, instrument: string): Group {
    const key = keyOf(feed, span, instrument)
    const known = this.#groups.get(key)
    if (known !== undefined) return known
    const group = this.#tables.find(feed, span, instrument) ?? this.#tables.create(feed, span, instrument)
    if (this.#groups.size >= MAX_KNOWN_GROUPS) {
      this.#groups.clear()
      this.#long.clear()
    }
    this.#groups.set(key, group)
    return group
  }

  #current(group: Group, ts: number, seq: number): OldRow | undefined {
    const waiting = group.tailRows === 0 ? undefined : this.#tables.tailRow(group.id, ts, seq)
    if (waiting !== undefined) return waiting
    if (ts < group.firstTs || ts > group.lastTs) return undefined
    const row = rowAt(this.#unpack(group), ts, seq)
    return row === undefined
      ? undefined
      : { text: row.text, packed: packSides(row.sides), recordedAt: row.recordedAt }
  }

  #unpack({ id, span }: Group): BookRow[] {
    const known = this.#unpacked.get(id)
    if (known !== undefined) return known
    const rows = this.#tables.blockRows(id, span)
    this.#unpacked.set(id, rows)
    return rows
  }

  #allRows(id: number, span: number): BookRow[] {
    return mergedRows(this.#tables.blockRows(id, span), this.#tables.tailRows(id))
  }

  /**
   * Turns the tail into another block. If its rows belong before stored ones, all rows become one block; if the tail
   * and the last block are both short, they are merged.
   */
  #foldTail(group: Group): void {
    const tail = this.#tables.tailRows(group.id).sort(compareKeys)
    const [first, last] = [tail[0], tail.at(-1)]
    group.tailRows = 0
    if (first === undefined || last === undefined) {
      this.#tables.markFolded(group.id)
      return
    }
    if (first.ts <= group.lastTs) {
      const rows = mergedRows(this.#tables.blockRows(group.id, group.span), tail)
      this.#rewrite(group.id, rows)
      group.firstTs = rows[0]?.ts ?? 1
      group.lastTs = rows.at(-1)?.ts ?? 0
      group.blocks = 1
      return
    }
    this.#unpacked.delete(group.id)
    const isFurther = this.#tables.append(group, tail)
    if (group.blocks === 0) group.firstTs = first.ts
    group.lastTs = last.ts
    if (isFurther) group.blocks++
  }

  /** Replaces the rows of a group; without rows the group is deleted. */
  #rewrite(id: number, rows: readonly BookRow[]): void {
    this.#unpacked.delete(id)
    this.#tables.replace(id, rows)
  }
}

const isSame = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0

type GroupTables = ReturnType<typeof groupTables>

/** The three tables of groups: book_groups, book_blocks and book_tail. */
function groupTables(database: DatabaseSync) {
  const find = database.prepare(
    'SELECT id, first_ts, last_ts, waiting FROM book_groups WHERE feed = ? AND span = ? AND instrument = ?',
  )
  const create = database.prepare(
    `INSERT INTO book_groups (feed, span, instrument, waiting, version, first_ts, last_ts, rows)
    VALUES (?, ?, ?, 0, 0, 1, 0, 0)`,
  )
  const markWaiting = database.prepare('UPDATE book_groups SET waiting = 1 WHERE id = ?')
  const markFolded = database.prepare('UPDATE book_groups SET waiting = 0 WHERE id = ?')
  const settle = database.prepare(
    `UPDATE book_groups SET waiting = 0, version = version + 1, first_ts = ?, last_ts = ?, rows = ?, bytes = ?
    WHERE id = ?`,
  )
  const extend = database.prepare(
    `UPDATE book_groups SET waiting = 0, version = version + 1, first_ts = iif(rows = 0, ?, first_ts), last_ts = ?,
    rows = rows + ?, bytes = bytes + ? WHERE id = ?`,
  )
  const remove = database.prepare('DELETE FROM book_groups WHERE id = ?')
  const over = database.prepare(
    `SELECT id, span, instrument FROM book_groups WHERE waiting = 1 AND feed = ?1
    AND span < (SELECT max(span) FROM book_groups WHERE feed = ?1) LIMIT ?2`,
  )
  const before = database.prepare(
    'SELECT id, span, rows FROM book_groups WHERE feed = ? AND span < ? ORDER BY span LIMIT ?',
  )
  const inSpan = database.prepare('SELECT id FROM book_groups WHERE feed = ? AND span = ?')
  const blocks = database.prepare('SELECT data FROM book_blocks WHERE book_group = ? ORDER BY part')
  const countBlocks = database.prepare('SELECT count(*) AS n FROM book_blocks WHERE book_group = ?')
  const block = database.prepare('SELECT data FROM book_blocks WHERE book_group = ? AND part = ?')
  const putBlock = database.prepare('INSERT INTO book_blocks (book_group, part, data) VALUES (?, ?, ?)')
  const replaceBlock = database.prepare('UPDATE book_blocks SET data = ? WHERE book_group = ? AND part = ?')
  const removeBlocks = database.prepare('DELETE FROM book_blocks WHERE book_group = ?')
  const countTail = database.prepare('SELECT count(*) AS n FROM book_tail WHERE book_group = ?')
  const putTail = database.prepare('INSERT OR REPLACE INTO book_tail VALUES (?, ?, ?, ?, ?, ?)')
  const tailRow = database.prepare(
    'SELECT recorded_at, text, sides FROM book_tail WHERE book_group = ? AND ts = ? AND seq = ?',
  )
  const tail = database.prepare(
    'SELECT ts, seq, recorded_at, text, sides FROM book_tail WHERE book_group = ?',
  )
  const clearTail = database.prepare('DELETE FROM book_tail WHERE book_group = ?')
  const partOf = (id: number, part: number) => block.get(id, part)?.data as Uint8Array
  /** The rows of a block if it is short, otherwise none. */
  const shortBlock = (id: number, span: number, part: number, first: Uint8Array | undefined): BookRow[] => {
    const decoded = decodeBlock(partOf(id, part), span, first)
    return decoded.ts.length < MIN_BLOCK_ROWS ? decoded.rows() : []
  }
  const countOf = (id: number) => Number(countTail.get(id)?.n)

  return {
    find(feed: number, span: number, instrument: string): Group | undefined {
      const found = find.get(feed, span, instrument)
      if (found === undefined) return undefined
      const id = Number(found.id)
      const tailRows = found.waiting === 1 ? countOf(id) : 0
      const blocks = Number(countBlocks.get(id)?.n)
      const [firstTs, lastTs] = [Number(found.first_ts), Number(found.last_ts)]
      return { id, span, firstTs, lastTs, blocks, tailRows, tailTs: 0 }
    },
    create(feed: number, span: number, instrument: string): Group {
      const id = Number(create.run(feed, span, instrument).lastInsertRowid)
      return { id, span, firstTs: 1, lastTs: 0, blocks: 0, tailRows: 0, tailTs: 0 }
    },
    markWaiting: (id: number) => void markWaiting.run(id),
    markFolded: (id: number) => void markFolded.run(id),
    /** Groups with a tail whose feed has moved on to a later span. */
    over: (feed: number, atMost: number) =>
      over.all(feed, atMost).map(({ id, span, instrument }) => ({
        id: Number(id),
        span: Number(span),
        instrument: String(instrument),
      })),
    before: (feed: number, span: number, atMost: number) =>
      before
        .all(feed, span, atMost)
        .map((row) => ({ id: Number(row.id), span: Number(row.span), rows: Number(row.rows) })),
    inSpan: (feed: number, span: number) => inSpan.all(feed, span).map(({ id }) => Number(id)),
    blockRows(id: number, span: number): BookRow[] {
      const parts = blocks.all(id).map(({ data }) => data as Uint8Array)
      return decodeBlocks(parts, span)?.rows() ?? []
    },
    countTail: countOf,
    putTail: (id: number, { ts, seq, text, packed }: IncomingBooks, recordedAt: number) =>
      void putTail.run(id, ts, seq, recordedAt, text, packed),
    tailRow(id: number, ts: number, seq: number): OldRow | undefined {
      const found = tailRow.get(id, ts, seq)
      if (found === undefined) return undefined
      return {
        text: String(found.text),
        packed: found.sides as Uint8Array,
        recordedAt: Number(found.recorded_at),
      }
    },
    tailRows: (id: number): BookRow[] => tail.all(id).map(tailRowOf),
    /** Appends the tail as a new block, or merges it into the last block if both are short and then returns false. */
    append({ id, blocks: count, span }: Group, tail: readonly BookRow[]): boolean {
      clearTail.run(id)
      const first = count === 0 ? undefined : contentOf(partOf(id, 0))
      const short = count > 0 && tail.length < MIN_BLOCK_ROWS ? shortBlock(id, span, count - 1, first) : []
      let added: number
      if (short.length === 0) {
        const data = encodeBlock(tail, first)
        putBlock.run(id, count, data)
        added = data.length
      } else {
        const data = encodeBlock([...short, ...tail], count === 1 ? undefined : first)
        added = data.length - partOf(id, count - 1).length
        replaceBlock.run(data, id, count - 1)
      }
      extend.run(tail[0]?.ts ?? 1, tail.at(-1)?.ts ?? 0, tail.length, added, id)
      return short.length === 0
    },
    /** Makes the rows the only block; without rows the group is deleted. */
    replace(id: number, rows: readonly BookRow[]): void {
      clearTail.run(id)
      removeBlocks.run(id)
      const [first, last] = [rows[0], rows.at(-1)]
      if (first === undefined || last === undefined) {
        remove.run(id)
        return
      }
      const data = encodeBlock(rows)
      putBlock.run(id, 0, data)
      settle.run(first.ts, last.ts, rows.length, data.length, id)
    },
  }
}
