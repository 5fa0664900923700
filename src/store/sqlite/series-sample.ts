import type { DatabaseSync } from 'node:sqlite'
import { SOURCES, type Source } from '../../core/source.ts'
import type { Samples } from '../order/sample.ts'
import type { PackedReader } from './packed-read.ts'
import { HOUR_MS } from './series-append.ts'
import type { StoredRow } from './series-page.ts'

/** Samples of snapshots that lie in series_rows, and of those that were packed into blocks; they have no instruments. */
export function plainSamples(database: DatabaseSync, packed: PackedReader): () => Samples<StoredRow> {
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
      const inBlocks = packed.nearest(arm.feed, order, from, to + 1)
      if (typeof ts !== 'number') return inBlocks
      if (inBlocks === undefined) return ts
      return order === 'asc' ? Math.min(ts, inBlocks) : Math.max(ts, inBlocks)
    },
    instruments: (feed, from, to) =>
      active
        .all(feed, Math.floor(from / HOUR_MS), Math.floor(to / HOUR_MS))
        .map((row) => String(row.instrument)),
    last(arm, instrument, from, to) {
      const row = last.get(arm.feed, from, to, instrument)
      // What lies in no block may be later than all of them, or between two.
      const inBlocks = packed.last(arm, instrument, row === undefined ? from : Number(row.ts) + 1, to + 1)
      if (row === undefined || inBlocks !== undefined) return inBlocks
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
