/** The PostgreSQL server of this run: the one that TAPELINE_TEST_POSTGRES names; `test/run.ts` starts one otherwise. */
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'

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

/** Of the server of this run, with a prefix of schemas. */
export function postgresAddress(schema: string): string {
  if (address === undefined) throw new Error('no PostgreSQL')
  return `${address}${address.includes('?') ? '&' : '?'}schema=${schema}`
}

export function postgresPlace(): PostgresPlace {
  const schema = `t_${randomBytes(6).toString('hex')}`
  return {
    address: postgresAddress(schema),
    remove: () => dropSchemas([`${schema}_live`, `${schema}_test`, schema]),
  }
}

export function dropSchemas(names: readonly string[]): Promise<void> {
  return withClient(async (client) => {
    for (const name of names) await client.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`)
  })
}

/** What the tables of schemas with this beginning hold: their rows as text, and the bytes behind every hexadecimal value. */
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

export function postgresRows(query: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
  return withClient(async (client) => (await client.query(query, [...values])).rows)
}

async function withClient<R>(run: (client: Client) => Promise<R>): Promise<R> {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    return await run(client)
  } finally {
    await client.end()
  }
}
