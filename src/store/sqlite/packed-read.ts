/** Reads rows that lie in blocks (packed_rows), in the order of pages. */
import type { DatabaseSync } from 'node:sqlite'
import { SOURCES, type Source } from '../../core/source.ts'
import { Lru } from '../../kit/lru.ts'
import { type Arm, endOf, isAfter } from '../order/arms.ts'
import { type BlockRow, decodeRows } from '../rows/row-block.ts'
import type { SeriesQuery } from '../series.ts'
import type { StoredRow } from './series-page.ts'

export interface PackedReader {
  /** Whether some block of the feed has rows in [from, to). */
  has(feed: number, from: number, to: number): boolean
  /** The end of the newest block of the feed that begins before an instant. */
  endBefore(feed: number, ts: number): number | undefined
  /** Up to `limit` of each arm. */
  rows(arms: readonly Arm[], query: SeriesQuery, limit: number): StoredRow[]
  /** Those of one feed in [from, to). */
  between(feed: number, from: number, to: number): BlockRow[]
}

interface Place {
  id: number
  firstTs: number
  lastTs: number
}

/** What the objects of a row take beside its text. */
const ROW_WEIGHT = 120

export function packedReader(database: DatabaseSync, maxBytes: number): PackedReader {
  const place = (condition: string, order: string) =>
    database.prepare(
      `SELECT id, first_ts, last_ts FROM packed_rows WHERE feed = ? AND ${condition} ORDER BY first_ts ${order} LIMIT 1`,
    )
  const statements = {
    atOrBefore: place('first_ts <= ?', 'DESC'),
    before: place('first_ts < ?', 'DESC'),
    after: place('first_ts > ?', 'ASC'),
  }
  const data = database.prepare('SELECT data FROM packed_rows WHERE id = ?')
  // Blocks are never changed, and their ids never used again.
  const unpacked = new Lru<number, BlockRow[]>({
    maxEntries: Math.max(1, maxBytes / 1024),
    maxWeight: maxBytes,
    weigh: (rows) => rows.reduce((sum, { text }) => sum + text.length + ROW_WEIGHT, 0),
  })

  const find = (which: keyof typeof statements, feed: number, ts: number): Place | undefined => {
    const row = statements[which].get(feed, ts)
    if (row === undefined) return undefined
    return { id: Number(row.id), firstTs: Number(row.first_ts), lastTs: Number(row.last_ts) }
  }
  const rowsOf = (id: number): BlockRow[] => {
    const known = unpacked.get(id)
    if (known !== undefined) return known
    const rows = decodeRows(data.get(id)?.data as Uint8Array)
    unpacked.set(id, rows)
    return rows
  }

  /** Rows in [from, to), forwards or backwards; blocks are read as far as rows are taken. */
  function* walk(feed: number, from: number, to: number, order: 'asc' | 'desc'): Iterable<BlockRow> {
    const first = order === 'asc' ? firstFrom(feed, from) : find('before', feed, to)
    for (let block = first; block !== undefined; ) {
      if (order === 'asc' ? block.firstTs >= to : block.lastTs < from) return
      const rows = rowsOf(block.id)
      for (let i = 0; i < rows.length; i++) {
        const row = rows[order === 'asc' ? i : rows.length - 1 - i]
        if (row !== undefined && row.ts >= from && row.ts < to) yield row
      }
      block = find(order === 'asc' ? 'after' : 'before', feed, block.firstTs)
    }
  }
  const firstFrom = (feed: number, from: number): Place | undefined => {
    const holding = find('atOrBefore', feed, from)
    return holding !== undefined && holding.lastTs >= from ? holding : find('after', feed, from)
  }

  return {
    has(feed, from, to) {
      const last = find('before', feed, to)
      return last !== undefined && last.lastTs >= from
    },
    endBefore: (feed, ts) => find('before', feed, ts)?.lastTs,
    between: (feed, from, to) => [...walk(feed, from, to, 'asc')],
    rows(arms, query, limit) {
      const { range, order, position, filters } = query
      if (filters?.open === true) return []
      const [from, to] =
        order === 'asc'
          ? [Math.max(range.from, position?.ts ?? 0), endOf(range)]
          : [range.from, Math.min(endOf(range), (position?.ts ?? Number.MAX_SAFE_INTEGER - 1) + 1)]
      return arms.flatMap((arm) => {
        const found: StoredRow[] = []
        const source = SOURCES[arm.rank] as Source
        for (const { ts, instrument, seq, text, side, usd } of walk(arm.feed, from, to, order)) {
          if (arm.instrument !== undefined && arm.instrument !== instrument) continue
          if (filters?.side !== undefined && filters.side !== side) continue
          if (filters?.minUsd !== undefined && !(usd !== null && usd >= filters.minUsd)) continue
          const place = { ts, source, instrument, seq }
          if (!isAfter(place, query)) continue
          found.push({ feed: arm.feed, position: place, text })
          if (found.length === limit) break
        }
        return found
      })
    },
  }
}
