import type { DatabaseSync } from 'node:sqlite'
import { MINUTE_MS } from './books-block.ts'
import { HOUR_MS } from './series-append.ts'

/** One transaction deletes at most this many rows, so that nobody waits long for the lock. */
const ROWS_AT_ONCE = 5_000

/** Deletes a slice of what is older; true when more is left. Everything beside the rows goes with the last. */
export function retainStep(
  database: DatabaseSync,
  feed: number,
  olderThan: number,
): { deleted: number; more: boolean } {
  const deleted = Number(
    database
      .prepare(
        `DELETE FROM series_rows WHERE feed = ?1 AND (ts, instrument, seq) IN (
          SELECT ts, instrument, seq FROM series_rows WHERE feed = ?1 AND ts < ?2
            ORDER BY ts, instrument, seq LIMIT ${ROWS_AT_ONCE})`,
      )
      .run(feed, olderThan).changes,
  )
  if (deleted === ROWS_AT_ONCE) return { deleted, more: true }
  const minute = Math.floor(olderThan / MINUTE_MS)
  const beside: [string, number][] = [
    ['DELETE FROM series_revisions WHERE feed = ? AND ts < ?', olderThan],
    ['DELETE FROM series_active WHERE feed = ? AND hour < ?', Math.floor(olderThan / HOUR_MS)],
    ['DELETE FROM books_tail WHERE feed = ? AND minute < ?', minute],
    ['DELETE FROM books_blocks WHERE feed = ? AND minute < ?', minute],
  ]
  for (const [sql, border] of beside) database.prepare(sql).run(feed, border)
  return { deleted, more: false }
}
