import type { DatabaseSync } from 'node:sqlite'
import { SOURCES, type Source } from '../../core/source.ts'
import type { Samples } from '../order/sample.ts'
import { HOUR_MS } from './series-append.ts'
import type { StoredRow } from './series-page.ts'

/** Samples of snapshots that lie in series_rows; they have no instruments. */
export function plainSamples(database: DatabaseSync): () => Samples<StoredRow> {
  const nearest = {
    asc: database.prepare('SELECT min(ts) AS ts FROM series_rows WHERE feed = ? AND ts BETWEEN ? AND ?'),
    desc: database.prepare('SELECT max(ts) AS ts FROM series_rows WHERE feed = ? AND ts BETWEEN ? AND ?'),
  }
  const active = database.prepare(
    'SELECT DISTINCT instrument FROM series_active WHERE feed = ? AND hour BETWEEN ? AND ?',
  )
  const last = database.prepare(
    `SELECT ts, seq, text FROM series_rows WHERE feed = ? AND ts BETWEEN ? AND ? AND instrument = ?
      ORDER BY ts DESC, seq DESC LIMIT 1`,
  )
  return () => ({
    nearest(arm, order, from, to) {
      const ts = nearest[order].get(arm.feed, from, to)?.ts
      return typeof ts === 'number' ? ts : undefined
    },
    instruments: (feed, from, to) =>
      active
        .all(feed, Math.floor(from / HOUR_MS), Math.floor(to / HOUR_MS))
        .map((row) => String(row.instrument)),
    last(arm, instrument, from, to) {
      const row = last.get(arm.feed, from, to, instrument)
      if (row === undefined) return undefined
      const position = {
        ts: Number(row.ts),
        source: SOURCES[arm.rank] as Source,
        instrument,
        seq: Number(row.seq),
      }
      return { feed: arm.feed, position, text: String(row.text) }
    },
  })
}
