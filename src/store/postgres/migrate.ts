/**
 * Brings the tables of a label (environment, chain, jobs, accounts …) to the newest version, each label in one
 * transaction. Any number of processes may start at once: the first takes the lock, the others find nothing to do.
 */
import type { Client } from 'pg'
import { MARKS_TABLE } from '../copy/copy-side.ts'
import type { Migration } from '../migration.ts'
import { StoreOpenError } from '../open-error.ts'
import { UnfinishedCopyError } from '../unfinished-copy.ts'
import { continueNumbers } from './restored-numbers.ts'
import { SHARED_MIGRATIONS } from './shared-schema.ts'

/** Tables that are created and upgraded together. */
export interface Label {
  readonly schema: string
  readonly label: string
  readonly migrations: readonly Migration[]
}

/** An arbitrary lock key, the same for all processes of all releases. */
const LOCK = 0x5450_4c4e
/** The server's time limit for a statement of a migration, and for waiting for the lock. */
const MIGRATION_MS = 600_000
/**
 * A migration has several statements. The server's limit must come first, because a client that gives up earlier leaves
 * a session behind that still waits for the lock, or works.
 */
const ANSWER_MS = 10 * MIGRATION_MS

export async function migrate(
  client: Client,
  {
    address,
    schema,
    label,
    migrations,
  }: {
    address: { readonly schema: string }
    schema: string
    label: string
    migrations: readonly Migration[]
  },
): Promise<void> {
  const shared = address.schema
  if (await isPartlyCopied(client, shared)) throw new UnfinishedCopyError()
  await applyMigrations(client, shared, sharedLabel(shared))
  await applyMigrations(client, shared, { schema, label, migrations })
  await continueNumbers(client, { schema, label })
}

/** The tables that every other label relies on. */
export function sharedLabel(shared: string): Label {
  return { schema: shared, label: 'shared', migrations: SHARED_MIGRATIONS }
}

/** Returns the version that was there before. */
export async function applyMigrations(
  client: Client,
  shared: string,
  { schema, label, migrations }: Label,
): Promise<number> {
  const newest = migrations.length
  if ((await versionOf(client, schema, label)) === newest) return newest
  /** The connection's time limit is meant for the statements of a service. The driver's types lack this option. */
  const run = (text: string, values?: unknown[]) => {
    const patient = { text, query_timeout: ANSWER_MS, ...(values && { values }) }
    return client.query(patient)
  }
  await run('BEGIN')
  try {
    await run(`SET LOCAL statement_timeout = ${MIGRATION_MS}`)
    await run('SELECT pg_advisory_xact_lock($1)', [LOCK])
    // Without reading this table, the session would not notice a schema that was created while it waited for the lock.
    await run('SELECT 1 FROM pg_namespace LIMIT 1')
    await run(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
    await run(`SET LOCAL search_path = ${schema}, ${shared}`)
    await run(
      `CREATE TABLE IF NOT EXISTS ${schema}.schema_versions (label text PRIMARY KEY, version int NOT NULL)`,
    )
    const from = await versionOf(client, schema, label)
    if (from > newest) throw new NewerSchemaError(label, from, newest)
    for (const { sql } of migrations.slice(from)) await run(sql)
    await run(
      `INSERT INTO ${schema}.schema_versions VALUES ($1, $2) ON CONFLICT (label) DO UPDATE SET version = $2`,
      [label, newest],
    )
    await run('COMMIT')
    return from
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Whether a copy into the store is unfinished. */
export async function isPartlyCopied(client: Client, shared: string): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
    `${shared}.${MARKS_TABLE}`,
  ])
  return rows[0]?.there === true
}

/** 0 if nothing was created yet. */
export async function versionOf(client: Client, schema: string, label: string): Promise<number> {
  const found = await client.query<{ has_table: boolean }>(
    `SELECT to_regclass($1) IS NOT NULL AS has_table`,
    [`${schema}.schema_versions`],
  )
  if (found.rows[0]?.has_table !== true) return 0
  const { rows } = await client.query<{ version: number }>(
    `SELECT version FROM ${schema}.schema_versions WHERE label = $1`,
    [label],
  )
  return rows[0]?.version ?? 0
}

export class NewerSchemaError extends StoreOpenError {
  override readonly name = 'NewerSchemaError'
  constructor(label: string, found: number, known: number) {
    super(
      `The ${label} tables have schema version ${found}, this release knows up to ${known}. ` +
        'They were written by a newer release: start that release, or restore a backup made before the upgrade.',
    )
  }
}
