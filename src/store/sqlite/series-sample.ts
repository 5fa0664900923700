import type { DatabaseSync } from 'node:sqlite'
import { SOURCES, type Source } from '../../core/source.ts'
import type { Arm } from '../order/arms.ts'
import { type Samples, sampledRows } from '../order/sample.ts'
import type { RestingWork } from '../rows/work-in-turns.ts'
import type { SeriesQuery } from '../series.ts'
import type { PackedReader } from './packed-read.ts'
import { HOUR_MS } from './series-append.ts'
import type { StoredRow } from './series-page.ts'

/** Samples of snapshots in series_rows, and of snapshots packed into blocks, which have no instruments. */
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
  const activeIn = (feed: number, from: number, to: number) =>
    active
      .all(feed, Math.floor(from / HOUR_MS), Math.floor(to / HOUR_MS))
      .map((row) => String(row.instrument))
  const lastOf = (arm: Arm, instrument: string, from: number, to: number): StoredRow | undefined => {
    const row = last.get(arm.feed, from, to, instrument)
    // A row outside blocks may be later than all blocks or between two, so only later blocks are searched.
    const inBlocks = packed.last(arm, instrument, row === undefined ? from : Number(row.ts) + 1, to + 1)
    if (row === undefined || inBlocks !== undefined) return inBlocks
    const position = {
      ts: Number(row.ts),
      source: SOURCES[arm.rank] as Source,
      instrument,
      seq: Number(row.seq),
    }
    return { feed: arm.feed, position, text: String(row.text) }
  }
  return () => ({
    *nearest(arm, order, from, to) {
      const ts = nearest[order].get(arm.feed, from, to)?.ts
      const inBlocks = packed.nearest(arm.feed, order, from, to + 1)
      yield
      if (typeof ts !== 'number') return inBlocks
      if (inBlocks === undefined) return ts
      return order === 'asc' ? Math.min(ts, inBlocks) : Math.max(ts, inBlocks)
    },
    *lasts(arm, from, to) {
      const instruments = arm.instrument === undefined ? activeIn(arm.feed, from, to) : [arm.instrument]
      const found: StoredRow[] = []
      for (const instrument of instruments) {
        const row = lastOf(arm, instrument, from, to)
        if (row !== undefined) found.push(row)
        yield
      }
      return found
    },
  })
}

/** Samples from blocks alone; undefined if the feed has a row outside blocks in this time. */
export function* packedSamples(
  packed: PackedReader,
  arms: readonly Arm[],
  query: SeriesQuery & { stepMs: number },
  limit: number,
): RestingWork<StoredRow[] | undefined> {
  const [arm] = arms
  if (arm === undefined || arms.length > 1 || arm.instrument !== undefined) return undefined
  // The time range that was read. The newest days are in no block, which the first step already notices.
  let [low, high] = [Number.POSITIVE_INFINITY, 0]
  const isAlone = () => packed.isAlone(arm.feed, low, high + 1)
  const samples: Samples<StoredRow> = {
    *nearest({ feed }, order, from, to) {
      const ts = packed.nearest(feed, order, from, to + 1)
      yield
      const isFirst = low > high
      low = Math.min(low, order === 'asc' ? from : (ts ?? from))
      high = Math.max(high, order === 'asc' ? (ts ?? to) : to)
      return isFirst && !isAlone() ? undefined : ts
    },
    *lasts(of, from, to) {
      low = Math.min(low, from)
      high = Math.max(high, to)
      const row = packed.last(of, '', from, to + 1)
      yield
      return row === undefined ? [] : [row]
    },
  }
  const rows = yield* sampledRows(samples, arms, query, limit)
  return isAlone() ? rows : undefined
}
