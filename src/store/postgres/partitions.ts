/**
 * Rows that are only appended are stored in one partition per month of their time. A partition is created ahead, or in
 * a separate transaction when the first row of its month arrives; a month that has expired is dropped as a whole.
 *
 *   series_candles ─┬─ series_candles_old        before the first month
 *                   ├─ series_candles_y2026m11
 *                   └─ series_candles_late       from LAST_YEAR on, against thousands made by a wrong clock
 */
import { DATASETS, type Dataset } from '../../core/feed.ts'
import { spanOf } from '../books/block.ts'
import type { Span } from '../coverage.ts'
import { type Database, type Queries, statement } from './database.ts'
import { monthOf, monthOfName, monthsFrom } from './months.ts'

const FIRST_YEAR = 2017
const LAST_YEAR = 2100
/** How many months after the current one get their partitions ahead of time. */
const MONTHS_AHEAD = 2
/** An arbitrary lock key, so that processes create partitions one after another. */
const LOCK = 0x5450_4d50

const LOCK_PARTITIONS = statement('partitions_lock', 'SELECT pg_advisory_xact_lock($1)')
const ADD = statement('partitions_add', 'SELECT add_partition($1, $2, $3, $4)')
const DROP = statement('partitions_drop', 'SELECT drop_partition($1)')
const NOW = statement('partitions_now', 'SELECT now_ms() AS now')
const LIST = statement(
  'partitions_list',
  `SELECT c.relname AS name FROM pg_inherits i
     JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass($1) ORDER BY c.relname`,
)

export const BLOCKS = 'book_blocks'

export function seriesTable(dataset: Dataset): string {
  return `series_${dataset}`
}

export const SERIES_TABLES = DATASETS.map(seriesTable)
const TABLES = [...SERIES_TABLES, BLOCKS]

export interface Partition {
  readonly table: string
  readonly name: string
  /** In the unit of its table; null if there is no bound. */
  readonly low: number | null
  readonly high: number | null
}

export interface Partitions {
  /** Creates the missing partitions for these tables and times. */
  ensure(needed: ReadonlyMap<string, Iterable<number>>): Promise<void>
  /** Creates the partitions of this month and the next ones. */
  ensureAhead(): Promise<void>
  /** Called after a partition was dropped, perhaps by another process. */
  forget(): void
}

export function partitions(database: Database): Partitions {
  const known = new Set<string>()

  const add = async (wanted: readonly Partition[]): Promise<void> => {
    const missing = wanted.filter(({ name }) => !known.has(name))
    if (missing.length === 0) return
    await database.write(async (tx) => {
      const done = [tx.rows(LOCK_PARTITIONS, [LOCK])]
      for (const { table, name, low, high } of missing) done.push(tx.rows(ADD, [table, name, low, high]))
      await Promise.all(done)
    })
    for (const { name } of missing) known.add(name)
  }

  return {
    ensure: (needed) => add(partitionsOf(needed)),
    async ensureAhead() {
      const [row] = await database.rows<{ now: number }>(NOW)
      await add(partitionsAhead(row?.now ?? 0))
    },
    forget: () => known.clear(),
  }
}

/** The partitions that hold rows of these tables and times. */
export function partitionsOf(needed: ReadonlyMap<string, Iterable<number>>): Partition[] {
  const wanted = new Map<string, Partition>()
  for (const [table, times] of needed) {
    for (const ts of times) {
      const partition = partitionAt(table, ts)
      wanted.set(partition.name, partition)
    }
  }
  return [...wanted.values()]
}

/** The name of the partition that contains all of [from, to), if it exists; undefined if there are several. */
export function partitionWith(table: string, { from, to }: Span): string | undefined {
  const { name } = partitionAt(table, from)
  return to > from && partitionAt(table, to - 1).name === name ? name : undefined
}

/** The partitions of this month and the next ones. */
export function partitionsAhead(nowMs: number): Partition[] {
  const months = monthsFrom(nowMs, 1 + MONTHS_AHEAD)
  return TABLES.flatMap((table) => months.map(({ low }) => partitionAt(table, low)))
}

/** The monthly partitions of a table whose rows are all older than a time. */
export async function expiredPartitions(
  queries: Queries,
  table: string,
  olderThan: number,
): Promise<Partition[]> {
  const found = await queries.rows<{ name: string }>(LIST, [table])
  return found.flatMap(({ name }) => {
    const month = monthOfName(name)
    return month === undefined || month.high > olderThan ? [] : [partitionAt(table, month.low)]
  })
}

export async function dropPartition(queries: Queries, name: string): Promise<void> {
  await queries.rows(DROP, [name])
}

function partitionAt(table: string, ts: number): Partition {
  const unit = (month: number) => (table === BLOCKS ? spanOf(month) : month)
  const first = Date.UTC(FIRST_YEAR, 0)
  const end = Date.UTC(LAST_YEAR, 0)
  if (ts < first) return { table, name: `${table}_old`, low: null, high: unit(first) }
  if (ts >= end) return { table, name: `${table}_late`, low: unit(end), high: null }
  const { suffix, low, high } = monthOf(ts)
  return { table, name: `${table}_${suffix}`, low: unit(low), high: unit(high) }
}
