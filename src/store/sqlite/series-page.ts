import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Feed, hasOneRowPerInstant } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import { SOURCES, type Source } from '../../core/source.ts'
import { Lru } from '../../kit/lru.ts'
import { type Arm, endOf } from '../order/arms.ts'
import type { ReadJoined } from '../rows/final-blocks.ts'
import { PAGE_SEPARATOR } from '../rows/row-block.ts'
import type { Page, PageQuery, Position, SeriesQuery } from '../series.ts'
import type { OneState } from './open.ts'
import { buildArms } from './series-arms.ts'

export interface StoredRow {
  feed: number
  position: Position
  text: string
}

export interface JoinedBlocks {
  readonly text: string
  readonly times: number[]
  /** Whether a block was not in memory. */
  readonly wasUnpacked: boolean
}

export const EMPTY_PAGE: Page = {
  text: '',
  count: 0,
  hasMore: false,
  last: undefined,
  firstTs: undefined,
  lastTs: undefined,
}

const MAX_STATEMENTS = 256

/** Prepares each statement text once, with rows as arrays; pages have few different shapes. */
type Prepare = (sql: string) => StatementSync

export function statementCache(database: DatabaseSync): Prepare {
  const prepared = new Lru<string, StatementSync>({ maxEntries: MAX_STATEMENTS })
  return (sql) => {
    const hit = prepared.get(sql)
    if (hit !== undefined) return hit
    const statement = database.prepare(sql)
    statement.setReturnArrays(true)
    prepared.set(sql, statement)
    return statement
  }
}

type Row = (string | number | null)[]
/**
 * Short pages are returned as text, because bytes outside the heap, allocated and dropped with every request, trigger
 * garbage collection.
 */
const MAX_TEXT_ROWS = 200
/** Most pages need few rows of each arm. The sizes are few, because each one is a prepared statement. */
const FIRST_BATCH_ROWS = 32
const MAX_BATCH_ROWS = 256
const KEY = ['ts', 'rank', 'instrument', 'seq']

export function pageReader(prepare: Prepare, oneState: OneState) {
  const keys = (arms: readonly Arm[], query: SeriesQuery, limit: number, offset: number): Position[] => {
    const built = buildArms({ ...query, arms }, KEY, limit + offset)
    const sql = `SELECT ts, rank, instrument, seq FROM (${built.sql} LIMIT ${whole(limit)} OFFSET ${whole(offset)})`
    return allOf(prepare, sql, built.binds).map(toPosition)
  }

  const lastOf = (arms: readonly Arm[], query: PageQuery, count: number) => {
    if (count === query.limit) {
      const [last, next] = keys(arms, query, 2, count - 1)
      return { last, hasMore: next !== undefined }
    }
    // A page that is not full ends where its range ends, so its last row is the first row in the opposite order.
    const { position: _, ...whole } = query
    const order = query.order === 'asc' ? 'desc' : 'asc'
    const [last] = keys(arms, { ...whole, order }, 1, 0)
    return { last, hasMore: false }
  }

  return {
    /** The page as one text, concatenated inside SQLite. */
    text(arms: readonly Arm[], query: PageQuery): Page {
      const built = buildArms({ ...query, arms }, ['ts', 'text'], query.limit)
      const joined = `group_concat(text, ${literal(query.separator)})`
      const rows = query.limit > MAX_TEXT_ROWS ? `CAST(${joined} AS BLOB)` : joined
      const sql = `SELECT ${rows}, count(*), min(ts), max(ts) FROM (${built.sql} LIMIT ${whole(query.limit)})`
      const read = () => {
        const row = prepare(sql).get(...built.binds) as unknown as [
          string | Uint8Array,
          number,
          number,
          number,
        ]
        const [bytes, count, least, most] = row
        const [firstTs, lastTs] = query.order === 'asc' ? [least, most] : [most, least]
        return { bytes, count, firstTs, lastTs }
      }
      const [feed] = query.feeds
      if (feed !== undefined && query.feeds.length === 1 && hasOneRowPerInstant(feed)) {
        // The last key follows from the last time, so reading the next key is enough, whatever was written in between.
        const { bytes, count, firstTs, lastTs } = read()
        if (count === 0) return EMPTY_PAGE
        const last = { ts: lastTs, source: feed.source, instrument: '', seq: 0 }
        const hasMore =
          count === query.limit &&
          !endsAt(query, feed, lastTs) &&
          keys(arms, { ...query, position: last }, 1, 0).length > 0
        return pageOf(bytes, { count, hasMore, last, firstTs, lastTs })
      }
      return oneState(() => {
        const { bytes, count, firstTs, lastTs } = read()
        if (count === 0) return EMPTY_PAGE
        return pageOf(bytes, { count, firstTs, lastTs, ...lastOf(arms, query, count) })
      })
    },
    /** The single rows of an arm. Each batch is a statement of its own, so that nothing stays open between turns. */
    *batches(arm: Arm, query: SeriesQuery, limit: number): Generator<StoredRow[], void, undefined> {
      let { position } = query
      for (let size = Math.min(limit, FIRST_BATCH_ROWS); ; size = Math.min(2 * size, MAX_BATCH_ROWS)) {
        const built = buildArms({ ...query, position, arms: [arm] }, [...KEY, 'text'], size)
        const sql = `SELECT ts, rank, instrument, seq, text FROM (${built.sql} LIMIT ${whole(size)})`
        const rows = allOf(prepare, sql, built.binds).map((row) => ({
          position: toPosition(row),
          feed: arm.feed,
          text: String(row[4]),
        }))
        yield rows
        if (rows.length < size) return
        position = rows.at(-1)?.position
      }
    },
    count(arms: readonly Arm[], query: SeriesQuery): number {
      const built = buildArms({ ...query, arms }, ['ts'], query.limit)
      const sql = `SELECT count(*) FROM (${built.sql} LIMIT ${whole(query.limit)})`
      return Number(allOf(prepare, sql, built.binds)[0]?.[0] ?? 0)
    },
  }
}

/** Limits and separators are part of the statement text, because SQLite chooses a slower plan when they are bound. */
function whole(value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not a row count: ${value}`)
  return value
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Candles are on a grid, so the range may have no room for another one after this. */
function endsAt({ range, order }: PageQuery, feed: Feed, lastTs: number): boolean {
  if (feed.interval === '') return false
  const step = INTERVAL_MS[feed.interval]
  return order === 'asc' ? lastTs + step >= endOf(range) : lastTs - step < range.from
}

function pageOf(rows: string | Uint8Array, rest: Omit<Page, 'text' | 'parts'>): Page {
  if (typeof rows === 'string') return { ...rest, text: rows }
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength)
  return {
    ...rest,
    parts: [bytes],
    get text() {
      return bytes.toString()
    },
  }
}

function allOf(prepare: Prepare, sql: string, binds: readonly (string | number)[]): Row[] {
  return prepare(sql).all(...binds) as unknown as Row[]
}

function toPosition(row: Row): Position {
  return {
    ts: Number(row[0]),
    source: SOURCES[Number(row[1])] as Source,
    instrument: String(row[2]),
    seq: Number(row[3]),
  }
}

/** Rows joined inside SQLite, because most of the cost of reading a row is handing it over to JavaScript. */
export function joinedReader(
  prepare: Prepare,
  packed: { joined(feed: number, from: number, to: number): JoinedBlocks | undefined },
): ReadJoined {
  return (feedId, from, to, separator, limit) => {
    const inBlocks = packed.joined(feedId, from, to)
    if (inBlocks !== undefined) {
      const sql = `SELECT ts, text FROM series_rows WHERE feed = ? AND ts >= ? AND ts < ? ORDER BY ts LIMIT ${whole(limit)}`
      const others = allOf(prepare, sql, [feedId, from, to])
      const { text, times, wasUnpacked } = inBlocks
      if (others.length === 0 && separator === PAGE_SEPARATOR && times.length <= limit)
        return { bytes: Buffer.from(text), times, wasUnpacked }
      const texts = text.split(PAGE_SEPARATOR)
      const rows = [
        ...times.map((ts, index) => ({ ts, text: texts[index] ?? '' })),
        ...others.map(([ts, row]) => ({ ts: Number(ts), text: String(row) })),
      ].sort((a, b) => a.ts - b.ts)
      const taken = rows.slice(0, limit)
      const bytes = Buffer.from(taken.map((row) => row.text + separator).join(''))
      return { bytes, times: taken.map(({ ts }) => ts), wasUnpacked }
    }
    const quoted = literal(separator)
    const sql = `SELECT CAST(group_concat(text, ${quoted}) || ${quoted} AS BLOB), group_concat(ts, ' ')
      FROM (SELECT ts, text FROM series_rows WHERE feed = ? AND ts >= ? AND ts < ? ORDER BY ts LIMIT ${whole(limit)})`
    const [blob, times] = prepare(sql).get(feedId, from, to) as unknown as [Uint8Array | null, string | null]
    if (blob === null || times === null) return undefined
    return {
      bytes: Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength),
      times: times.split(' ').map(Number),
      wasUnpacked: false,
    }
  }
}
