/** A PostgreSQL store that is copied from or to. */
import type { Client } from 'pg'
import { ENVIRONMENTS } from '../../core/environment.ts'
import { DATASETS, type Dataset } from '../../core/feed.ts'
import {
  type Area,
  BATCH_BYTES,
  BATCH_ROWS,
  type CopiedRow,
  type CopiedTable,
  type CopiedValue,
  nameOfTable,
  sizeOfRow,
} from '../copy/copied-table.ts'
import {
  assertEmpty,
  assertSameSource,
  type CopyMark,
  CopyRefusedError,
  type CopySide,
  type CopyTarget,
  MARKS_TABLE,
  markOf,
  markText,
  SOURCE_MARK,
} from '../copy/copy-side.ts'
import { UnfinishedCopyError } from '../unfinished-copy.ts'
import { type PostgresAddress, shownAddress } from './address.ts'
import { connect, storeError } from './connection.ts'
import { deriveTables } from './copy-derive.ts'
import { SERIES_ROWS, type StoredTable, storedTables } from './copy-tables.ts'
import { writeRows } from './copy-write.ts'
import { storeLabels } from './labels.ts'
import { applyMigrations, isPartlyCopied } from './migrate.ts'
import { schemaOf } from './open-database.ts'
import { seriesTable } from './partitions.ts'

/** An arbitrary key of the lock that lets only one copy at a time work on a store. */
const LOCK = 0x5450_4350
/** A killed copy may still have a statement running. */
const LOCK_WAIT_MS = 30_000
const HEARTBEAT_MS = 20_000
const FIRST_FETCH = 200

export async function openServerSource(address: PostgresAddress): Promise<CopySide> {
  return openServer(address, false)
}

export async function openServerTarget(address: PostgresAddress): Promise<CopyTarget> {
  return openServer(address, true)
}

async function openServer(address: PostgresAddress, isTarget: boolean): Promise<CopyTarget> {
  const { schema: shared } = address
  const { client } = await connect(address, [shared], { isUnlimited: true })
  try {
    await lockStore(client, address)
    if (!isTarget) {
      if (await isPartlyCopied(client, shared)) throw new UnfinishedCopyError()
      await assertNoService(client, address)
    }
    // A source too: an environment that was never switched on has no tables yet, and older tables have other columns.
    for (const label of storeLabels(address)) await applyMigrations(client, shared, label)
    if (isTarget) await assertNoService(client, address)
    const terms = await leaseTerms(client, shared)
    // Rows and marks are written together, so whatever a crash of the server loses is copied again.
    if (isTarget) await client.query('SET synchronous_commit = off')
    const stored = await allTables(client, address)
    return sideOf({ client, address, isTarget, stored, terms })
  } catch (error) {
    await client.end()
    throw storeError(error)
  }
}

async function allTables(client: Client, address: PostgresAddress): Promise<StoredTable[]> {
  const tables = await storedTables(client, address.schema, () => ({
    label: 'accounts',
    environment: undefined,
  }))
  for (const environment of ENVIRONMENTS) {
    const labels = new Map<string, Area['label']>()
    for (const { schema, label, migrations } of storeLabels(address)) {
      if (schema !== schemaOf(address, environment)) continue
      for (const { sql } of migrations)
        for (const [, table = ''] of sql.matchAll(/CREATE TABLE (\w+)/g))
          labels.set(table, label as Area['label'])
    }
    labels.set(SERIES_ROWS, 'environment')
    const labelOf = (table: string): Area | undefined => {
      const label = labels.get(table)
      return label && { label, environment }
    }
    tables.push(...(await storedTables(client, schemaOf(address, environment), labelOf)))
  }
  return tables
}

function sideOf({
  client,
  address,
  isTarget,
  stored,
  terms,
}: {
  client: Client
  address: PostgresAddress
  isTarget: boolean
  stored: readonly StoredTable[]
  terms: string
}): CopyTarget {
  const { schema: shared } = address
  const byName = new Map(stored.map((table) => [nameOfTable(table), table]))
  const datasets = new Map<string, Map<number, Dataset>>()
  const partitions = new Set<string>()
  const storedOf = (table: CopiedTable): StoredTable => {
    const found = byName.get(nameOfTable(table))
    if (found === undefined) throw new Error(`there is no table ${nameOfTable(table)}`)
    // In the column order that both sides agreed on.
    return { ...found, columns: table.columns, key: table.key }
  }
  const setSchema = (schema: string) => client.query(`SET search_path = ${schema}, ${shared}`)
  /** By feed id; read after the feeds were copied. */
  const datasetsOf = async (schema: string): Promise<Map<number, Dataset>> => {
    const known = datasets.get(schema)
    if (known !== undefined) return known
    const { rows } = await client.query<{ id: number; dataset: Dataset }>(
      `SELECT id, dataset FROM ${schema}.feeds ORDER BY id`,
    )
    const found = new Map(rows.map(({ id, dataset }) => [id, dataset]))
    datasets.set(schema, found)
    return found
  }

  async function* fetch(select: string, width: number): AsyncIterable<CopiedRow[]> {
    await client.query(`DECLARE copied NO SCROLL CURSOR FOR ${select}`)
    let count = FIRST_FETCH
    for (;;) {
      const { rows } = await client.query<CopiedValue[]>({
        text: `FETCH ${count} FROM copied`,
        rowMode: 'array',
      })
      if (rows.length === 0) break
      let bytes = 0
      for (const row of rows) bytes += sizeOfRow(row) + width
      yield rows
      if (rows.length < count) break
      count = Math.max(1, Math.min(BATCH_ROWS, Math.floor((BATCH_BYTES * rows.length) / bytes)))
    }
    await client.query('CLOSE copied')
  }

  async function* readTable(
    table: StoredTable,
    after: readonly CopiedValue[] | undefined,
  ): AsyncIterable<CopiedRow[]> {
    if (table.numbered !== undefined) {
      const newest = await newestNumber(client, table)
      if (newest > 0) yield [[table.numbered.table, newest]]
      return
    }
    if (table.name !== SERIES_ROWS) {
      yield* fetch(selectOf(client, table, { isTarget, after }), table.columns.length)
      return
    }
    for (const [feed, dataset] of await datasetsOf(table.schema)) {
      const firstFeed = (after?.[0] as number | undefined) ?? feed
      if (feed < firstFeed) continue
      const from = `${seriesTable(dataset)} t`
      const only = `t.feed_id = ${feed}`
      const rest = feed === firstFeed ? after : undefined
      yield* fetch(selectOf(client, table, { isTarget, after: rest, from, only }), table.columns.length)
    }
  }

  return {
    identity: shownAddress(address),
    tables: async () => [...stored],
    async count(table) {
      const found = storedOf(table)
      if (found.numbered !== undefined) return (await newestNumber(client, found)) > 0 ? 1 : 0
      await setSchema(found.schema)
      const names =
        found.name === SERIES_ROWS
          ? [...new Set((await datasetsOf(found.schema)).values())].map(seriesTable)
          : []
      const from =
        found.name === SERIES_ROWS ? names.map((name) => `${name} t`) : [found.rule.from ?? `${found.name} t`]
      let total = 0
      for (const each of from) {
        const { rows } = await client.query<{ n: number }>(`SELECT count(*) AS n FROM ${each}`)
        total += rows[0]?.n ?? 0
      }
      return total
    },
    async *read(table, after) {
      const found = storedOf(table)
      await setSchema(found.schema)
      datasets.delete(found.schema)
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      try {
        for await (const rows of readTable(found, after)) {
          for (const row of rows) for (const value of row) assertExact(value, table.name)
          yield rows
        }
      } finally {
        await client.query('COMMIT')
      }
    },
    secrets: {
      stored: {
        async get(name) {
          const { rows } = await client.query<{ value: string }>(
            `SELECT value FROM ${shared}.shared_secrets WHERE name = $1`,
            [name],
          )
          return rows[0]?.value
        },
        async put(name, value) {
          await client.query(
            `INSERT INTO ${shared}.shared_secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
            [name, value],
          )
        },
      },
    },
    async assertUnused() {
      await assertNoService(client, address)
      if ((await leaseTerms(client, shared)) !== terms)
        throw new CopyRefusedError(
          `A service has worked on ${shownAddress(address)} meanwhile: stop it and copy again.`,
        )
    },
    async begin(source) {
      if (!(await isPartlyCopied(client, shared))) {
        const filled: string[] = []
        for (const table of stored) if (await hasRows(client, shared, table)) filled.push(nameOfTable(table))
        assertEmpty(filled, shownAddress(address))
        await client.query(
          `BEGIN; CREATE TABLE ${shared}.${MARKS_TABLE} (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
           INSERT INTO ${shared}.${MARKS_TABLE} VALUES ('${SOURCE_MARK}', ${client.escapeLiteral(source)}); COMMIT`,
        )
      }
      const { rows } = await client.query<{ name: string; value: string }>(
        `SELECT name, value FROM ${shared}.${MARKS_TABLE}`,
      )
      assertSameSource(rows.find(({ name }) => name === SOURCE_MARK)?.value, source, shownAddress(address))
      return new Map(
        rows
          .filter(({ name }) => name !== SOURCE_MARK)
          .map(({ name, value }): [string, CopyMark] => [name, markOf(value)]),
      )
    },
    async write(table, rows, mark) {
      const found = storedOf(table)
      await setSchema(found.schema)
      if (table.name === 'feeds') datasets.delete(found.schema)
      const feeds = table.name === SERIES_ROWS ? await datasetsOf(found.schema) : new Map<number, Dataset>()
      await writeRows(client, found, rows, {
        feeds,
        partitions,
        marks: `${shared}.${MARKS_TABLE}`,
        mark: [nameOfTable(table), markText(mark)],
      })
    },
    async derive() {
      for (const environment of ENVIRONMENTS) {
        await setSchema(schemaOf(address, environment))
        await deriveTables(client)
      }
      // The planner needs statistics for the first queries.
      for (const { schema, name, numbered } of stored)
        if (numbered === undefined && name !== SERIES_ROWS) await client.query(`ANALYZE ${schema}.${name}`)
      for (const environment of ENVIRONMENTS)
        for (const dataset of DATASETS)
          await client.query(`ANALYZE ${schemaOf(address, environment)}.${seriesTable(dataset)}`)
    },
    async finish() {
      await client.query('SET synchronous_commit = on')
      await client.query(`DROP TABLE ${shared}.${MARKS_TABLE}`)
    },
    close: () => client.end(),
  }
}

async function hasRows(client: Client, shared: string, table: StoredTable): Promise<boolean> {
  if (table.numbered !== undefined || table.name === SERIES_ROWS) return false
  await client.query(`SET search_path = ${table.schema}, ${shared}`)
  const { rows } = await client.query<{ filled: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM ${table.rule.from ?? `${table.name} t`}) AS filled`,
  )
  return rows[0]?.filled === true
}

function selectOf(
  client: Client,
  table: StoredTable,
  {
    isTarget,
    after,
    from = table.rule.from ?? `${table.name} t`,
    only,
  }: { isTarget: boolean; after: readonly CopiedValue[] | undefined; from?: string; only?: string },
): string {
  const columns = table.columns.map((column) => {
    const plain = (isTarget ? undefined : table.rule.served?.[column]) ?? `t.${column}`
    const kind = table.kinds.get(column)
    if (kind === 'big') return `(${plain})::text`
    return kind === 'boolean' ? `(${plain})::int` : plain
  })
  const key = table.key.map((column) => `t.${column}`).join(', ')
  const literal = (value: CopiedValue) => {
    if (value instanceof Uint8Array) return `'\\x${Buffer.from(value).toString('hex')}'::bytea`
    return typeof value === 'string' ? client.escapeLiteral(value) : String(value)
  }
  const bounds = [
    ...(only === undefined ? [] : [only]),
    ...(after === undefined ? [] : [`(${key}) > (${after.map(literal).join(', ')})`]),
    ...(after !== undefined && only !== undefined ? [`t.ts >= ${after[1]}`] : []),
  ]
  const where = bounds.length === 0 ? '' : `WHERE ${bounds.join(' AND ')}`
  return `SELECT ${columns.join(', ')} FROM ${from} ${where} ORDER BY ${key}`
}

async function newestNumber(client: Client, { schema, numbered }: StoredTable): Promise<number> {
  if (numbered === undefined) return 0
  const { rows } = await client.query<{ name: string }>('SELECT pg_get_serial_sequence($1, $2) AS name', [
    `${schema}.${numbered.table}`,
    numbered.column,
  ])
  const found = await client.query<{ newest: number }>(
    `SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS newest FROM ${rows[0]?.name}`,
  )
  return found.rows[0]?.newest ?? 0
}

function assertExact(value: CopiedValue, table: string): void {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new Error(`a number of ${table} is too large to be copied`)
}

async function lockStore(client: Client, address: PostgresAddress): Promise<void> {
  const until = performance.now() + LOCK_WAIT_MS
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>(
      'SELECT pg_try_advisory_lock($1, hashtext($2)) AS locked',
      [LOCK, address.schema],
    )
    if (rows[0]?.locked === true) return
    if (performance.now() > until)
      throw new CopyRefusedError(`Another copy works on ${shownAddress(address)}.`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Leaders hold leases and send heartbeats; processes that only answer callers exchange counts. */
async function assertNoService(client: Client, address: PostgresAddress): Promise<void> {
  const { schema } = address
  const { rows: there } = await client.query<{ there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AND to_regclass($2) IS NOT NULL AS there',
    [`${schema}.leases`, `${schema}.heartbeats`],
  )
  if (there[0]?.there !== true)
    throw new CopyRefusedError(`${shownAddress(address)} has no tables of this service.`)
  await client.query(`SET search_path = ${schema}`)
  const { rows } = await client.query<{ what: string }>(
    `SELECT part || ' is led by ' || holder AS what FROM leases WHERE until_ms > now_ms()
      UNION ALL SELECT part || ' reports' FROM heartbeats WHERE at_ms > now_ms() - ${HEARTBEAT_MS}
      UNION ALL SELECT 'process ' || holder FROM count_holders WHERE until_ms > now_ms() LIMIT 3`,
  )
  if (rows.length > 0)
    throw new CopyRefusedError(
      `A service works on ${shownAddress(address)} (${rows.map(({ what }) => what).join(', ')}). Stop all of its processes first; after a crash wait for ${HEARTBEAT_MS / 1000} s.`,
    )
}

/** Changes whenever a process starts to lead a part. */
async function leaseTerms(client: Client, schema: string): Promise<string> {
  const { rows } = await client.query<{ terms: string | null }>(
    `SELECT string_agg(part || ':' || term, ',' ORDER BY part) AS terms FROM ${schema}.leases`,
  )
  return rows[0]?.terms ?? ''
}
