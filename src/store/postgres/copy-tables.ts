/** How this engine's tables map to the form in which a store is copied; whatever is not listed here is the same. */
import type { Client } from 'pg'
import { DATASETS } from '../../core/feed.ts'
import { type Area, type CopiedTable, isBig } from '../copy/copied-table.ts'
import { MARKS_TABLE } from '../copy/copy-side.ts'
import { seriesTable } from './partitions.ts'
import { servedNumber } from './series-feeds.ts'

/** Tables that are not copied, because they are derived from copied rows or useless in another store. */
const NOT_COPIED: Record<string, string> = {
  schema_versions: 'belongs to this engine',
  leases: 'belongs to the processes that use this store',
  commits: 'always empty',
  last_writes: 'belongs to the processes that use this store',
  shared_counts: 'belongs to the processes that use this store',
  count_holders: 'belongs to the processes that use this store',
  heartbeats: 'belongs to the processes that use this store',
  shared_secrets: 'copied separately, because it is encrypted with a secret of the operator',
  account_changes: 'only invalidates what other processes have in memory',
  subscriptions_version: 'only invalidates what other processes have in memory',
  subscription_changes: 'only invalidates what other processes have in memory',
  event_addresses: 'derived from the events',
  [MARKS_TABLE]: 'belongs to the copy itself',
}

interface TableRule {
  /** Columns that only this engine has. */
  readonly own?: readonly string[]
  /** The values that a copy writes to some of them. */
  readonly written?: Readonly<Record<string, string>>
  /** The source of the rows, with the alias `t`. */
  readonly from?: string
  /** How columns are read when copying from this engine, where that differs from what is stored. */
  readonly served?: Readonly<Record<string, string>>
  readonly key?: readonly string[]
}

const SERVER_NOW = `(SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)`
/** Skipped as after any failover, because readers may know numbers that the server that took over has not seen. */
const SKIPPED_AFTER_FAILOVER = 1_000_000

export const SERIES_ROWS = 'series_rows'

const RULES: Record<string, TableRule> = {
  accounts: { own: ['change_seq'] },
  feeds: {
    own: ['first_ts', 'last_ts', 'observed_from', 'covered_to', 'open_from', 'open_to'],
    served: { epoch: servedNumber('t.epoch'), version: servedNumber('t.version') },
  },
  [SERIES_ROWS]: { own: ['writes'], written: { writes: '1' } },
  book_groups: {
    own: ['waiting'],
    written: { waiting: 'tail_rows > 0' },
    // The stored count counts a row again for each correction in the tail.
    served: {
      tail_rows: `(SELECT count(*)::int FROM book_tail b
        WHERE b.feed_id = t.feed_id AND b.span = t.span AND b.instrument = t.instrument)`,
    },
  },
  coverage_spans: {
    from: `(SELECT feed_id, from_ts, to_ts, state FROM coverage_spans UNION ALL
      SELECT id, open_from, open_to, 'observed' FROM feeds WHERE open_from IS NOT NULL AND open_to IS NOT NULL) t`,
  },
  chain_state: {
    own: ['only_row', 'oldest_seq', 'last_write', 'server', 'chain_from'],
    from: `(SELECT * FROM chain_state WHERE newest_seq > 0 OR newest_place > 0 OR coverage_from IS NOT NULL
      OR indexed_from IS NOT NULL OR retained_from IS NOT NULL OR seen_to IS NOT NULL) t`,
    served: {
      newest_seq: `CASE WHEN t.server <> ${SERVER_NOW} THEN t.newest_seq + ${SKIPPED_AFTER_FAILOVER} ELSE t.newest_seq END`,
    },
    key: ['log_name'],
  },
  events: { own: ['size'] },
  chain_blocks: {
    from: '(SELECT * FROM chain_blocks WHERE id >= (SELECT chain_from FROM chain_state)) t',
  },
  transactions: { key: ['place'] },
  job_position: { own: ['only_row'], key: ['log_id'] },
  jobs: { own: ['claim'] },
  job_history: { key: ['subscription_id', 'number'] },
}

/** The newest numbers that tables have assigned; their rows may have been deleted. */
const NUMBERS: Partial<Record<Area['label'], { table: string; column: string }>> = {
  accounts: { table: 'audit', column: 'seq' },
  jobs: { table: 'jobs', column: 'number' },
}

type Kind = 'number' | 'big' | 'boolean' | 'text' | 'bytes'

export interface StoredTable extends CopiedTable {
  readonly schema: string
  readonly kinds: ReadonlyMap<string, Kind>
  /** The SQL types of the columns. */
  readonly types: ReadonlyMap<string, string>
  readonly rule: TableRule
  /** Only in the table `numbers`: the column whose newest number it holds. */
  readonly numbered?: { readonly table: string; readonly column: string }
}

interface ColumnRow {
  readonly table: string
  readonly column: string
  readonly type: string
  /** The position of the column in the primary key. */
  readonly keyed: number | null
}

/** Reads the tables from the stored schema, in the order in which they were created. */
export async function storedTables(
  client: Client,
  schema: string,
  labelOf: (table: string) => Area | undefined,
): Promise<StoredTable[]> {
  const { rows } = await client.query<ColumnRow>(
    `SELECT c.relname AS "table", a.attname AS "column", format_type(a.atttypid, NULL) AS type,
        array_position(i.indkey::int2[], a.attnum) AS keyed
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
      WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      ORDER BY c.oid, a.attnum`,
    [schema],
  )
  const series = new Set(DATASETS.map(seriesTable))
  const found = new Map<string, ColumnRow[]>()
  for (const row of rows) {
    const name = series.has(row.table) ? SERIES_ROWS : row.table
    if (NOT_COPIED[name] !== undefined) continue
    const columns = found.get(name) ?? []
    found.set(name, columns)
    // All series tables have the same columns.
    if (!columns.some(({ column }) => column === row.column)) columns.push(row)
  }
  const tables = [...found].flatMap(([name, columns]): StoredTable[] => {
    const area = labelOf(name)
    return area === undefined ? [] : [storedTable(schema, area, name, columns)]
  })
  const areas = new Map(tables.map(({ area }) => [area.label, area]))
  return [
    ...tables,
    ...[...areas.values()].flatMap((area): StoredTable[] => {
      const numbered = NUMBERS[area.label]
      if (numbered === undefined) return []
      const columns = ['name', 'newest']
      return [
        {
          area,
          schema,
          name: 'numbers',
          columns,
          key: ['name'],
          kinds: new Map(),
          types: new Map(),
          rule: {},
          numbered,
        },
      ]
    }),
  ]
}

function storedTable(schema: string, area: Area, name: string, rows: readonly ColumnRow[]): StoredTable {
  const rule = RULES[name] ?? {}
  const copied = rows.filter(({ column }) => rule.own?.includes(column) !== true)
  const primary = copied
    .filter(({ keyed }) => keyed !== null)
    .sort((a, b) => (a.keyed ?? 0) - (b.keyed ?? 0))
    .map(({ column }) => column)
  return {
    area,
    schema,
    name,
    columns: copied.map(({ column }) => column),
    key: rule.key ?? primary,
    kinds: new Map(copied.map(({ column, type }) => [column, kindOf(name, column, type)])),
    types: new Map(copied.map(({ column, type }) => [column, type])),
    rule,
  }
}

function kindOf(table: string, column: string, type: string): Kind {
  if (isBig(table, column)) return 'big'
  if (type === 'boolean') return 'boolean'
  if (type === 'text') return 'text'
  return type === 'bytea' ? 'bytes' : 'number'
}
