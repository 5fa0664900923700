/**
 * Moves rows that are unlikely to change into blocks (packed_rows), and back when one of them is written again.
 *
 *   series_rows ──final, old──▶ a block ──a row arrives within its time, or retention ends there──▶ series_rows
 *
 * No row of series_rows lies within the time range of a block of its feed.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { BlockForm } from '../rows/block-form.ts'
import type { BlockRow } from '../rows/block-row.ts'
import { decodeRows, encodeRows } from '../rows/row-block.ts'

/** Maximum number of blocks that one transaction creates or deletes. */
const BLOCKS_AT_ONCE = 8

export type RowPacker = ReturnType<typeof rowPacker>

/** Its caches are valid only while nobody else writes; call `forget` otherwise. */
export function rowPacker(database: DatabaseSync) {
  const oldest = database.prepare(
    `SELECT ts, instrument, seq, text, closed, side, usd, revision, recorded_at FROM series_rows
      WHERE feed = ? AND ts >= ? AND ts < ? ORDER BY ts, instrument, seq LIMIT ?`,
  )
  const remove = database.prepare('DELETE FROM series_rows WHERE feed = ? AND ts BETWEEN ? AND ?')
  const put = database.prepare(
    'INSERT INTO packed_rows (feed, first_ts, last_ts, rows, bytes, data) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const restore = database.prepare(
    `INSERT INTO series_rows (feed, ts, instrument, seq, text, closed, side, usd, revision, recorded_at)
      VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?)`,
  )
  const count = database.prepare(
    'UPDATE feeds SET rows = max(0, rows + ?), bytes = max(0, bytes + ?) WHERE id = ?',
  )
  const next = database.prepare('SELECT min(first_ts) AS ts FROM packed_rows WHERE feed = ? AND first_ts > ?')
  const newest = database.prepare(
    'SELECT last_ts FROM packed_rows WHERE feed = ? ORDER BY first_ts DESC LIMIT 1',
  )
  const touching = database.prepare(
    `SELECT id, first_ts, last_ts FROM packed_rows WHERE feed = ?1 AND first_ts <= ?3 AND last_ts >= ?2
      AND first_ts >= coalesce((SELECT max(first_ts) FROM packed_rows WHERE feed = ?1 AND first_ts <= ?2), ?2)`,
  )
  const data = database.prepare('SELECT data FROM packed_rows WHERE id = ?')
  const drop = database.prepare('DELETE FROM packed_rows WHERE id = ?')
  const expired = database.prepare(
    `DELETE FROM packed_rows WHERE id IN (SELECT id FROM packed_rows WHERE feed = ?1 AND first_ts < ?2 AND last_ts < ?2
      ORDER BY first_ts LIMIT ${BLOCKS_AT_ONCE}) RETURNING rows`,
  )
  /** The end of the newest block of a feed. */
  const packedTo = new Map<number, number>()
  /**
   * No row of a feed before this time can be packed: the remaining ones are open, or share an instant with an open row.
   */
  const lookedTo = new Map<number, number>()

  const endOf = (feed: number): number => {
    const known = packedTo.get(feed)
    if (known !== undefined) return known
    const end = Number(newest.get(feed)?.last_ts ?? -1)
    packedTo.set(feed, end)
    return end
  }
  const unpack = (feed: number, id: number): void => {
    const rows = decodeRows(data.get(id)?.data as Uint8Array)
    drop.run(id)
    for (const { ts, instrument, seq, text, side, usd, revision, recordedAt } of rows)
      restore.run(feed, ts, instrument, seq, text, side, usd, revision, recordedAt)
    count.run(rows.length, sizeOf(rows), feed)
    packedTo.delete(feed)
  }

  /**
   * The next rows that may share a block: all closed, with no block or open row among them, and only complete instants.
   */
  const nextRows = (feed: number, from: number, before: number, form: BlockForm): NextRows | undefined => {
    const found = oldest.all(feed, from, before, form.rows + 1).map(rowOf)
    const first = found[0]
    if (first === undefined) return undefined
    const openTs = found.find(({ closed }) => !closed)?.ts
    const block = Number(next.get(feed, first.ts)?.ts ?? Number.POSITIVE_INFINITY)
    const border = Math.min(openTs ?? Number.POSITIVE_INFINITY, block, gridEnd(first.ts, form))
    const near = found.filter(({ ts }) => ts < border)
    // More rows of the last instant may follow, so it is left out.
    const isFull = near.length > form.rows
    const rows = isFull ? near.filter(({ ts }) => ts !== near.at(-1)?.ts) : near
    if (isFull && rows.length === 0) return nextRows(feed, from, before, { ...form, rows: 2 * form.rows })
    const isBounded = near.length < found.length
    return { rows, isFull, isBounded, openTs }
  }

  return {
    /** Packs a few blocks of rows before an instant; `more` when there may be others. */
    pack(feed: number, before: number, form: BlockForm): { packed: number; more: boolean } {
      let packed = 0
      let hasSkipped = false
      for (let blocks = 0; blocks < BLOCKS_AT_ONCE; blocks++) {
        const found = nextRows(feed, lookedTo.get(feed) ?? 0, before, form)
        if (found === undefined) return { packed, more: false }
        const { rows, isFull, isBounded, openTs } = found
        const [first, last] = [rows[0], rows.at(-1)]
        if (first === undefined && openTs !== undefined) {
          lookedTo.set(feed, openTs + 1)
          hasSkipped = true
          continue
        }
        // Too few for a full block, and nothing bounds them yet, so later rows can still fill it.
        if (first === undefined || last === undefined || (!isFull && !isBounded))
          return { packed, more: false }
        const encoded = encodeRows(rows, hasSample(last.ts, form))
        if (Number(remove.run(feed, first.ts, last.ts).changes) !== rows.length)
          throw new Error(
            `rows of feed ${feed} from ${first.ts} to ${last.ts} are not those that were packed`,
          )
        put.run(feed, first.ts, last.ts, rows.length, encoded.length, encoded)
        packedTo.delete(feed)
        count.run(-rows.length, -sizeOf(rows), feed)
        packed += rows.length
      }
      return { packed, more: packed > 0 || hasSkipped }
    },
    /** Called before rows of these times are written: unpacks the blocks that they fall into. */
    makeRoom(feed: number, times: Float64Array): void {
      let [low, high] = [Number.POSITIVE_INFINITY, 0]
      for (const ts of times) {
        if (ts < low) low = ts
        if (ts > high) high = ts
      }
      if (low < (lookedTo.get(feed) ?? 0)) lookedTo.delete(feed)
      if (low > endOf(feed)) return
      for (const { id, first_ts: first, last_ts: last } of touching.all(feed, low, high))
        if (times.some((ts) => ts >= Number(first) && ts <= Number(last))) unpack(feed, Number(id))
    },
    /** Deletes some of the blocks before an instant, and unpacks the one that contains it. */
    cut(feed: number, olderThan: number): { deleted: number; more: boolean } {
      const rows = expired.all(feed, olderThan).map((row) => Number(row.rows))
      packedTo.delete(feed)
      const deleted = rows.reduce((sum, each) => sum + each, 0)
      if (rows.length === BLOCKS_AT_ONCE) return { deleted, more: true }
      for (const { id, first_ts: first } of touching.all(feed, olderThan, olderThan))
        if (Number(first) < olderThan) unpack(feed, Number(id))
      return { deleted, more: false }
    },
    forget() {
      packedTo.clear()
      lookedTo.clear()
    },
  }
}

/** The first instant that cannot share a block with this one. */
function gridEnd(ts: number, { gridMs, endsMs }: BlockForm): number {
  if (endsMs !== undefined) return Math.ceil(ts / endsMs) * endsMs + 1
  return gridMs === undefined ? Number.POSITIVE_INFINITY : (Math.floor(ts / gridMs) + 1) * gridMs
}

/** Whether the last row of a block may be a sample, because its part of the grid ends at a multiple of `samplesMs`. */
function hasSample(lastTs: number, { endsMs, samplesMs }: BlockForm): boolean {
  if (endsMs === undefined || samplesMs === undefined) return false
  return (Math.ceil(lastTs / endsMs) * endsMs) % samplesMs === 0
}

interface NextRows {
  readonly rows: readonly BlockRow[]
  /** Whether there are enough rows for a block. */
  readonly isFull: boolean
  /** Whether another block, an open row or the next part of the grid follows them. */
  readonly isBounded: boolean
  /** Time of the first open row. */
  readonly openTs: number | undefined
}

type ReadRow = BlockRow & { closed: boolean }

function rowOf(row: Record<string, unknown>): ReadRow {
  return {
    ts: Number(row.ts),
    instrument: String(row.instrument),
    seq: Number(row.seq),
    text: String(row.text),
    closed: row.closed === 1,
    side: row.side as string | null,
    usd: row.usd as number | null,
    revision: Number(row.revision),
    recordedAt: Number(row.recorded_at),
  }
}

function sizeOf(rows: readonly BlockRow[]): number {
  return rows.reduce((sum, { text, instrument }) => sum + text.length + instrument.length, 0)
}
