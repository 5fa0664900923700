import type { DatabaseSync } from 'node:sqlite'
import { spanOf } from '../books/block.ts'
import { isGrouped } from '../books/group.ts'
import { blockFormOf } from '../rows/block-form.ts'
import { bytesOf, type PackedRows } from '../rows/packed.ts'
import type { BookWriter } from './books-write.ts'
import type { RowPacker } from './packed-write.ts'
import type { FeedTable, StoredFeed } from './series-feeds.ts'
import { MANY, type PlainRow, rowInserter } from './series-insert.ts'

export const HOUR_MS = 3_600_000
const MAX_KNOWN_ACTIVE = 50_000
/** Tails are folded twice as fast as they are written, but never all tails of a span in one transaction. */
const FOLDS_AT_LEAST = 4

interface AppendCounts {
  inserted: number
  unchanged: number
  rewritten: number
  corrected: number
}

interface Row extends PlainRow {
  /** Its books, packed. */
  books: Uint8Array
}

/**
 * Writes rows by key. The outcome depends on what is stored:
 *
 *   nothing              → inserted
 *   same bytes           → unchanged
 *   open                 → rewritten (or closed) in place
 *   closed, new is open  → unchanged: a late open version never replaces a closed row
 *   closed, other bytes  → corrected: the old bytes become a revision
 *
 * Grouped rows (books-write.ts) are always closed.
 */
export function rowWriter(
  database: DatabaseSync,
  { feeds, books, packer }: { feeds: FeedTable; books: BookWriter; packer: RowPacker },
) {
  const inserter = rowInserter(database)
  const current = database.prepare(
    `SELECT text, closed, revision, recorded_at FROM series_rows
      WHERE feed = ? AND ts = ? AND instrument = ? AND seq = ?`,
  )
  const update = database.prepare(
    `UPDATE series_rows SET text = ?, closed = ?, side = ?, usd = ?, revision = ?, recorded_at = ?
      WHERE feed = ? AND ts = ? AND instrument = ? AND seq = ?`,
  )
  const rewriteOpen = database.prepare(
    `UPDATE series_rows SET text = ?1, side = ?2, usd = ?3, recorded_at = ?4
      WHERE feed = ?5 AND ts = ?6 AND instrument = ?7 AND seq = ?8 AND closed = 0 AND text <> ?1`,
  )
  const revise = database.prepare('INSERT INTO series_revisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const revisions = database.prepare(
    'SELECT count(*) AS n FROM series_revisions WHERE feed = ? AND ts = ? AND instrument = ? AND seq = ?',
  )
  const activate = database.prepare('INSERT OR IGNORE INTO series_active VALUES (?, ?, ?)')
  const active = new Set<string>()

  const markActive = (feed: number, row: Row) => {
    const hour = Math.floor(row.ts / HOUR_MS)
    const key = `${feed}/${hour}/${row.instrument}`
    if (active.has(key)) return
    if (active.size >= MAX_KNOWN_ACTIVE) active.clear()
    activate.run(feed, hour, row.instrument)
    active.add(key)
  }

  const replace = (feed: StoredFeed, row: Row, recordedAt: number): keyof AppendCounts => {
    const key = [feed.id, row.ts, row.instrument, row.seq] as const
    const old = current.get(...key)
    if (old === undefined) throw new Error('a row vanished inside its transaction')
    const wasClosed = old.closed === 1
    if (old.text === row.text && (wasClosed || row.closed === 0)) return 'unchanged'
    if (wasClosed && row.closed === 0) return 'unchanged'
    let revision = Number(old.revision)
    if (wasClosed) {
      revise.run(...key, revision, old.recorded_at ?? 0, recordedAt, old.text ?? '', null)
      revision++
    }
    update.run(row.text, row.closed, row.side, row.usd, revision, recordedAt, ...key)
    return wasClosed ? 'corrected' : 'rewritten'
  }

  const insertPlain = (feed: StoredFeed, row: Row, recordedAt: number): keyof AppendCounts => {
    const { ts, instrument, seq, text, side, usd } = row
    // An open row is inserted once and then usually rewritten every second, so the update is tried first.
    if (
      row.closed === 0 &&
      rewriteOpen.run(text, side, usd, recordedAt, feed.id, ts, instrument, seq).changes === 1
    )
      return 'rewritten'
    return inserter.one(feed.id, row, recordedAt) ? 'inserted' : replace(feed, row, recordedAt)
  }

  const insertGrouped = (feed: StoredFeed, row: Row, recordedAt: number): keyof AppendCounts => {
    const { ts, seq, instrument, text, books: packed } = row
    const outcome = books.put(feed.id, instrument, { ts, seq, text, packed }, recordedAt)
    if (outcome.kind === 'corrected') {
      const key = [feed.id, ts, instrument, seq] as const
      const revision = Number(revisions.get(...key)?.n) + 1
      revise.run(...key, revision, outcome.recordedAt, recordedAt, outcome.text, outcome.packed)
    }
    return outcome.kind
  }

  return {
    append(packed: PackedRows, recordedAt: number): AppendCounts {
      const counts: AppendCounts = { inserted: 0, unchanged: 0, rewritten: 0, corrected: 0 }
      const feed = feeds.open(packed.feed)
      const sampled = packed.feed.dataset === 'snapshots'
      const grouped = isGrouped(packed.feed)
      const spans = new Set<string>()
      let firstChanged = Number.POSITIVE_INFINITY
      let bytes = 0
      const note = (row: Row, outcome: keyof AppendCounts) => {
        counts[outcome]++
        if (grouped) spans.add(`${spanOf(row.ts)}/${row.instrument}`)
        else if (outcome === 'inserted') {
          bytes += row.text.length + row.instrument.length
          if (sampled) markActive(feed.id, row)
        }
        if (outcome !== 'unchanged') firstChanged = Math.min(firstChanged, row.ts)
      }
      const rows = unpack(packed)
      if (blockFormOf(packed.feed) !== undefined) packer.makeRoom(feed.id, packed.ts)
      // Rows that are already stored usually arrive many at a time, so from the first such row on, rows are inserted
      // one by one.
      let allNew = !grouped
      for (let i = 0; i < rows.length; ) {
        const chunk = allNew ? rows.slice(i, i + MANY) : []
        if (chunk.length === MANY && inserter.many(feed.id, chunk, recordedAt)) {
          for (const row of chunk) note(row, 'inserted')
          i += MANY
          continue
        }
        allNew = false
        const row = rows[i++]
        if (row === undefined) break
        note(row, grouped ? insertGrouped(feed, row, recordedAt) : insertPlain(feed, row, recordedAt))
      }
      if (firstChanged < Number.POSITIVE_INFINITY)
        feeds.changed(feed, firstChanged, {
          corrections: counts.corrected,
          // Grouped rows are counted in book_groups.
          rows: grouped ? 0 : counts.inserted,
          bytes,
        })
      if (grouped) books.fold(feed.id, FOLDS_AT_LEAST + 2 * spans.size)
      return counts
    },
    forget(): void {
      active.clear()
      books.forget()
      packer.forget()
    },
  }
}

function unpack(packed: PackedRows): Row[] {
  const texts = packed.texts.split('\n')
  const instruments = packed.instruments?.split('\n')
  const sides = packed.sides?.split('\n')
  return texts.map((text, i) => {
    const usd = packed.usd?.[i]
    return {
      ts: packed.ts[i] ?? 0,
      seq: packed.seq[i] ?? 0,
      instrument: instruments?.[i] ?? '',
      closed: packed.closed[i] ?? 0,
      side: sides?.[i] || null,
      usd: usd === undefined || Number.isNaN(usd) ? null : usd,
      books: bytesOf(packed.books, i),
      text,
    }
  })
}
