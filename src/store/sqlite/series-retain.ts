import type { DatabaseSync } from 'node:sqlite'
import type { BookWriter } from './books-write.ts'
import { ROW_BYTES } from './environment-schema.ts'
import type { RowPacker } from './packed-write.ts'
import { HOUR_MS } from './series-append.ts'

/** One transaction deletes at most this many rows, so that no other writer waits long for the lock. */
const ROWS_AT_ONCE = 2_000
const GROUPS_AT_ONCE = 100

interface RetainedStep {
  /** All deleted rows, including those of groups and blocks. */
  deleted: number
  /** Only rows of series_rows, and their bytes. */
  rows: number
  bytes: number
  more: boolean
}

/**
 * Deletes a slice of the older rows; `more` when some are left. Revisions and activity are deleted with the last slice.
 */
export function retainStep(
  database: DatabaseSync,
  { books, packer }: { books: BookWriter; packer: RowPacker },
  feed: number,
  olderThan: number,
): RetainedStep {
  const blocks = packer.cut(feed, olderThan)
  if (blocks.more) return { deleted: blocks.deleted, rows: 0, bytes: 0, more: true }
  const sizes = database
    .prepare(
      `DELETE FROM series_rows WHERE feed = ?1 AND (ts, instrument, seq) IN (
        SELECT ts, instrument, seq FROM series_rows WHERE feed = ?1 AND ts < ?2
          ORDER BY ts, instrument, seq LIMIT ${ROWS_AT_ONCE}) RETURNING ${ROW_BYTES} AS bytes`,
    )
    .all(feed, olderThan)
  const rows = sizes.length
  const bytes = sizes.reduce((sum, row) => sum + Number(row.bytes), 0)
  if (rows === ROWS_AT_ONCE) return { deleted: blocks.deleted + rows, rows, bytes, more: true }
  const groups = books.cut(feed, olderThan, GROUPS_AT_ONCE)
  const deleted = blocks.deleted + rows + groups.deleted
  if (groups.more) return { deleted, rows, bytes, more: true }
  const beside: [string, number][] = [
    ['DELETE FROM series_revisions WHERE feed = ? AND ts < ?', olderThan],
    ['DELETE FROM series_active WHERE feed = ? AND hour < ?', Math.floor(olderThan / HOUR_MS)],
  ]
  for (const [sql, border] of beside) database.prepare(sql).run(feed, border)
  return { deleted, rows, bytes, more: false }
}
