/**
 * Rows that are only appended lie in one partition per month of their time. A partition is made when the first row of
 * its month arrives, in a transaction of its own, or ahead of it; a month that has expired is dropped as a whole.
 *
 *   series_candles ─┬─ series_candles_old        before the first month
 *                   ├─ series_candles_y2026m11
 *                   └─ series_candles_late       from the last year on: a wrong clock makes no thousand partitions
 */
import { DATASETS, type Dataset } from '../../core/feed.ts'
import { spanOf } from '../books/block.ts'
import { type Database, type Queries, statement } from './database.ts'
import { monthOf, monthOfName, monthsFrom } from './months.ts'

const FIRST_YEAR = 2017
const LAST_YEAR = 2100
/** How many months after this one have their partitions already. */
const MONTHS_AHEAD = 2
/** Any number: processes make partitions one after another. */
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
  /** In the unit of its table; null where there is no bound. */
  readonly low: number | null
  readonly high: number | null
}

export interface Partitions {
  /** Makes those of the tables and times that are missing. */
  ensure(needed: ReadonlyMap<string, Iterable<number>>): Promise<void>
  /** Makes those of this month and of the next. */
  ensureAhead(): Promise<void>
  /** Something was dropped, perhaps by another process. */
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

/** Where rows of these tables and times lie. */
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

/** Those of this month and of the next. */
export function partitionsAhead(nowMs: number): Partition[] {
  const months = monthsFrom(nowMs, 1 + MONTHS_AHEAD)
  return TABLES.flatMap((table) => months.map(({ low }) => partitionAt(table, low)))
}

/** The months of a table whose rows are all older than that. */
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
