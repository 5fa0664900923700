/** How the tables of this engine map to the form in which a store is copied; anything not listed here is identical. */
import type { DatabaseSync } from 'node:sqlite'
import { type Area, type CopiedTable, isBig } from '../copy/copied-table.ts'
import { MARKS_TABLE } from '../copy/copy-side.ts'

/** Tables that are not copied: they are rebuilt from copied data, or are of no use in another store. */
const NOT_COPIED: Record<string, string> = {
  changes: 'only invalidates what other processes have in memory',
  subscription_changes: 'only invalidates what other processes have in memory',
  leases: 'belongs to the processes that use this store',
  idempotency_claims: 'belongs to the processes that use this store',
  shared_counts: 'belongs to the processes that use this store',
  count_holders: 'belongs to the processes that use this store',
  heartbeats: 'belongs to the processes that use this store',
  shared_secrets: 'secrets are files beside the databases',
  series_active: 'derived from the rows',
  packed_rows: 'in series_rows',
  addresses: 'the address itself is copied',
  event_kinds: 'the kind itself is copied',
  event_log: 'in chain_state',
  event_tail: 'in events',
  event_blocks: 'in events',
  event_addresses: 'derived from the events',
  acceptances: 'derived from the transactions and blocks',
  transaction_texts: 'in transactions',
  transaction_blocks: 'in transactions',
  marks: 'in job_position',
  facts: 'in chain_state and job_position',
  [MARKS_TABLE]: 'belongs to the copy itself',
}

interface TableRule {
  /** Name of the table in the copy. */
  readonly as?: string
  /** Columns with a different name in the copy. */
  readonly rename?: Readonly<Record<string, string>>
  /** Columns that only this engine has. */
  readonly own?: readonly string[]
  /** Columns of the copy that this engine does not store, with the expressions that read them. They are not written. */
  readonly derived?: Readonly<Record<string, string>>
  /** FROM clause for reading the rows, with the table as `t`. */
  readonly from?: string
  readonly key?: readonly string[]
  /** Replaces the insert: a statement and the columns of its parameters. */
  readonly write?: { readonly sql: string; readonly columns: readonly string[] }
}

const groupId = '(SELECT id FROM book_groups WHERE feed = ? AND span = ? AND instrument = ?)'

const RULES: Record<string, TableRule> = {
  idempotency_totals: {
    // Triggers have already created the sums.
    write: {
      sql: 'INSERT OR REPLACE INTO idempotency_totals (account_id, entries, bytes) VALUES (?, ?, ?)',
      columns: ['account_id', 'entries', 'bytes'],
    },
  },
  attempts: { rename: { until: 'until_ms' } },
  feeds: { own: ['rows', 'bytes'] },
  series_rows: { rename: { feed: 'feed_id' } },
  series_revisions: { rename: { feed: 'feed_id' } },
  coverage_spans: { rename: { feed: 'feed_id' } },
  book_groups: {
    rename: { feed: 'feed_id' },
    key: ['feed_id', 'span', 'instrument'],
    own: ['id', 'waiting', 'bytes'],
    derived: {
      blocks: '(SELECT count(*) FROM book_blocks WHERE book_group = t.id)',
      tail_rows: '(SELECT count(*) FROM book_tail WHERE book_group = t.id)',
      tail_first: '(SELECT coalesce(min(ts), 0) FROM book_tail WHERE book_group = t.id)',
      tail_last: '(SELECT coalesce(max(ts), 0) FROM book_tail WHERE book_group = t.id)',
    },
    write: {
      sql: `INSERT INTO book_groups (feed, span, instrument, version, first_ts, last_ts, rows, waiting)
        VALUES (?, ?, ?, ?, ?, ?, ?, ? > 0)`,
      columns: ['feed_id', 'span', 'instrument', 'version', 'first_ts', 'last_ts', 'rows', 'tail_rows'],
    },
  },
  book_blocks: {
    own: ['book_group'],
    derived: { feed_id: 'g.feed', span: 'g.span', instrument: 'g.instrument' },
    from: 'book_groups g CROSS JOIN book_blocks t ON t.book_group = g.id',
    key: ['feed_id', 'span', 'instrument', 'part'],
    write: {
      sql: `INSERT INTO book_blocks (book_group, part, data) VALUES (${groupId}, ?, ?)`,
      columns: ['feed_id', 'span', 'instrument', 'part', 'data'],
    },
  },
  book_tail: {
    own: ['book_group'],
    derived: { feed_id: 'g.feed', span: 'g.span', instrument: 'g.instrument' },
    from: 'book_groups g CROSS JOIN book_tail t ON t.book_group = g.id',
    key: ['feed_id', 'span', 'instrument', 'ts', 'seq'],
    write: {
      sql: `INSERT INTO book_tail (book_group, ts, seq, recorded_at, text, sides) VALUES (${groupId}, ?, ?, ?, ?, ?)`,
      columns: ['feed_id', 'span', 'instrument', 'ts', 'seq', 'recorded_at', 'text', 'sides'],
    },
  },
  chain_blocks: { rename: { time: 'time_ms' } },
  seen_blocks: { rename: { at: 'seen_at' } },
  gaps: {
    rename: { at: 'recorded_at' },
    derived: { id: 't.rowid' },
    key: ['id'],
    write: {
      sql: 'INSERT INTO gaps (rowid, at, gap) VALUES (?, ?, ?)',
      columns: ['id', 'recorded_at', 'gap'],
    },
  },
  address_rows: {
    rename: { tx: 'place', time: 'time_ms' },
    own: ['address', 'counterparty'],
    key: ['address', 'time_ms', 'rank', 'place'],
    derived: { address: 'a.address', tx_id: 'x.tx_id', counterparty: 'c.address' },
    from: `addresses a CROSS JOIN address_rows t ON t.address = a.id JOIN transactions x ON x.id = t.tx
      LEFT JOIN addresses c ON c.id = t.counterparty`,
  },
  transactions: { rename: { id: 'place' }, derived: { parsed: `''` }, key: ['place'] },
  payloads: { as: 'job_payloads' },
  history: { as: 'job_history', key: ['subscription_id', 'number'] },
  password_resets: { key: ['user_id'] },
  invitations: { key: ['role'] },
}

/** Tables of the copy that this engine stores in a different form: see `copy-forms.ts`. */
const OWN_FORMS: Record<Area['label'], readonly Omit<CopiedTable, 'area'>[]> = {
  accounts: [{ name: 'numbers', columns: ['name', 'newest'], key: ['name'] }],
  environment: [],
  chain: [
    {
      name: 'chain_state',
      columns: [
        'log_name',
        'newest_seq',
        'bytes',
        'newest_place',
        'coverage_from',
        'indexed_from',
        'retained_from',
        'seen_to',
        'seen_to_score',
      ],
      key: ['log_name'],
    },
    { name: 'events', columns: ['seq', 'kind', 'created_at', 'addresses', 'tail'], key: ['seq'] },
  ],
  jobs: [
    { name: 'job_position', columns: ['log_id', 'seq'], key: ['log_id'] },
    { name: 'numbers', columns: ['name', 'newest'], key: ['name'] },
  ],
}

/** How a table of this engine is read and written. */
export interface StoredTable extends CopiedTable {
  readonly select: (columns: readonly string[]) => string
  /** Condition that makes `select` continue after a row. */
  readonly after: string
  readonly insert: { readonly sql: string; readonly columns: readonly string[] } | undefined
}

/** Derives the tables from the schema of an open database. */
export function storedTables(database: DatabaseSync, area: Area): StoredTable[] {
  const tables = database
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid`)
    .all()
    .map(({ name }) => String(name))
    .filter((name) => NOT_COPIED[name] === undefined)
  return [
    ...OWN_FORMS[area.label].map((form) => ({
      ...form,
      area,
      select: () => '',
      after: '',
      insert: undefined,
    })),
    ...tables.map((name) => storedTable(database, area, name)),
  ]
}

function storedTable(database: DatabaseSync, area: Area, stored: string): StoredTable {
  const {
    as: name = stored,
    rename = {},
    own = [],
    derived = {},
    from = `${stored} t`,
    ...rule
  } = RULES[stored] ?? {}
  const info = database.prepare('SELECT name, pk FROM pragma_table_info(?) ORDER BY cid').all(stored)
  const plain = info
    .map((column) => String(column.name))
    .filter((column) => !own.includes(column))
    .map((column) => ({ column, as: rename[column] ?? column }))
  const columns = [...plain.map(({ as }) => as), ...Object.keys(derived)]
  const expression = (column: string) => {
    const found = plain.find(({ as }) => as === column)
    const text = derived[column] ?? `t.${found?.column ?? column}`
    return isBig(name, column) ? `CAST(${text} AS TEXT)` : text
  }
  const primary = info
    .filter(({ pk }) => Number(pk) > 0)
    .sort((a, b) => Number(a.pk) - Number(b.pk))
    .map((column) => rename[String(column.name)] ?? String(column.name))
  const key = rule.key ?? primary
  return {
    area,
    name,
    columns,
    key,
    select: (wanted) =>
      `SELECT ${wanted.map((column) => `${expression(column)} AS "${column}"`).join(', ')} FROM ${from}`,
    // Uses expressions rather than result names, because several of the joined tables may have a column of that name.
    after: `WHERE (${key.map(expression).join()}) > (${key.map(() => '?').join()})`,
    insert: rule.write ?? {
      sql: `INSERT INTO ${stored} (${plain.map(({ column }) => column).join()}) VALUES (${plain.map(() => '?').join()})`,
      columns: plain.map(({ as }) => as),
    },
  }
}
