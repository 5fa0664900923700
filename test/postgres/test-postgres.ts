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

export async function dropSchemas(names: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    for (const name of names) await client.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`)
  } finally {
    await client.end()
  }
}
