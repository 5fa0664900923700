/**
 * The PostgreSQL server of this run: the one that TAPELINE_TEST_POSTGRES names; `test/run.ts` starts one otherwise.
 * With TAPELINE_TEST_DISTRIBUTE the server is a coordinator of Citus, and the tables of every test are spread over its
 * servers by `tapeline store distribute` before the test begins.
 */
import { spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Client } from 'pg'
import { DISTRIBUTE_LOCK } from '../../src/store/postgres/distribute.ts'

const address = process.env.TAPELINE_TEST_POSTGRES

/** For the `skip` of a test; false where there is a server. */
export const withoutPostgres: string | false =
  address === undefined || address === ''
    ? 'no PostgreSQL: install it, or set TAPELINE_TEST_POSTGRES to the address of a server'
    : false

export interface PostgresPlace {
  /** An address whose schemas nobody else uses. */
  readonly address: string
  remove(): Promise<void>
}

/** Whether tables are spread over the servers of Citus. */
export const isDistributed = Boolean(address && process.env.TAPELINE_TEST_DISTRIBUTE)

const prepared = new Set<string>()

/** Of the server of this run, with a prefix of schemas. */
export function preparedAddress(schema: string): string {
  const place = addressOf(schema)
  if (isDistributed && !prepared.has(schema)) distribute(place)
  prepared.add(schema)
  return place
}

function addressOf(schema: string): string {
  if (address === undefined) throw new Error('no PostgreSQL')
  return `${address}${address.includes('?') ? '&' : '?'}schema=${schema}`
}

/** Schemas of this run begin with it. */
const PREFIX = `t_${process.env.TAPELINE_TEST_RUN ?? 'single'}_`

/** The name of schemas of this run; the same for the same text. */
export function schemaFor(text: string): string {
  return PREFIX + createHash('sha256').update(text).digest('hex').slice(0, 12)
}

export function postgresPlace({ distribute = isDistributed } = {}): PostgresPlace {
  const schema = schemaFor(randomUUID())
  return {
    address: distribute ? preparedAddress(schema) : addressOf(schema),
    remove: () => dropSchemas([`${schema}_live`, `${schema}_test`, schema]),
  }
}

export function dropSchemas(names: readonly string[]): Promise<void> {
  for (const name of names) prepared.delete(name.replace(/_(?:live|test)$/, ''))
  return withClient(async (client) => {
    // Of several that create and drop spread tables at once, some would have to give up.
    if (isDistributed) await client.query('SELECT pg_advisory_lock($1)', [DISTRIBUTE_LOCK])
    for (const name of names) await client.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`)
  })
}

/** Schemas left by this run: those that stand for a folder (`test/fakes/stores.ts`), and those of aborted tests. */
export async function dropSchemasOfRun(): Promise<void> {
  const left = await postgresRows('SELECT nspname AS name FROM pg_namespace WHERE starts_with(nspname, $1)', [
    PREFIX,
  ])
  await dropSchemas(left.map(({ name }) => String(name)))
}

/** The contents of the schemas with this prefix: rows as text, and the bytes behind every hexadecimal value. */
export function tablesOf(prefix: string): Promise<{ name: string; bytes: Buffer }[]> {
  return withClient(async (client) => {
    const tables = await client.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND starts_with(n.nspname, $1)`,
      [prefix],
    )
    const found: { name: string; bytes: Buffer }[] = []
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`)
      const text = rows.map(({ row }) => row).join('\n')
      const binary = text.matchAll(/\\x([0-9a-f]+)/g).map(([, hex = '']) => Buffer.from(hex, 'hex'))
      found.push({ name, bytes: Buffer.concat([Buffer.from(text), ...binary]) })
    }
    return found
  })
}

/** Several statements. */
export async function runScript(sql: string): Promise<void> {
  await withClient((client) => client.query(sql))
}

export function postgresRows(query: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
  return withClient(async (client) => (await client.query(query, [...values])).rows)
}

/** A connection to the server of this run. */
export async function withClient<R>(run: (client: Client) => Promise<R>): Promise<R> {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    return await run(client)
  } finally {
    await client.end()
  }
}

/** By the command itself, which a caller that returns its result at once has to wait for. */
function distribute(place: string): void {
  const program = join(import.meta.dirname, '../../src/main.ts')
  const args = ['store', 'distribute', '--store', place, '--shards', '4']
  const { status, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`store distribute failed: ${stderr}`)
}
