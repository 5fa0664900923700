/**
 * The stores of a folder, or of `:memory:`, opened as the service opens them or beside a running one. If
 * TAPELINE_TEST_ENGINE is `postgres`, a folder stands for separate schemas on the server of this run, so that tests of
 * behaviour run on that engine.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../../src/core/environment.ts'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { openStores, parseStoreAddress, type StoreAddress, type Stores } from '../../src/store/open-stores.ts'
import { openDatabase } from '../../src/store/sqlite/open.ts'
import { dropSchemas, postgresRows, preparedAddress, schemaFor, tablesOf } from '../postgres/test-postgres.ts'

export function storesIn(folder: string, clock: Clock = systemClock): Stores {
  return openStores(storeAddressOf(folder), clock)
}

export function storeAddressOf(folder: string): StoreAddress {
  return parseStoreAddress(sharedAddress(folder) ?? folder)
}

/** The settings of a service on this folder. */
export function storeEnv(folder: string): Record<string, string> {
  const address = sharedAddress(folder)
  return {
    TAPELINE_DATA: folder,
    ...(address === undefined
      ? {}
      : { TAPELINE_STORE: address, TAPELINE_SECRET: 'shared by all processes of a test' }),
  }
}

/** Removes the market data of an environment; keys and accounts stay. */
export async function removeEnvironment(folder: string, environment: Environment): Promise<void> {
  if (isOnPostgres(folder)) return dropSchemas([`${schemaFor(folder)}_${environment}`])
  for (const end of ['db', 'db-wal', 'db-shm']) rmSync(join(folder, `${environment}.${end}`), { force: true })
}

/** The charges under a name. */
export async function chargesIn(
  folder: string,
  endpoint: string,
): Promise<{ id: string; credits: number }[]> {
  const rows = isOnPostgres(folder)
    ? await postgresRows(`SELECT id, credits FROM ${schemaFor(folder)}.ledger WHERE endpoint = $1`, [
        endpoint,
      ])
    : sqliteRows(join(folder, 'accounts.db'), 'SELECT id, credits FROM ledger WHERE endpoint = ?', [endpoint])
  return rows.map(({ id, credits }) => ({ id: String(id), credits: Number(credits) }))
}

function sqliteRows(file: string, query: string, values: string[]): Record<string, unknown>[] {
  const database = openDatabase({ file })
  try {
    return database.prepare(query).all(...values)
  } finally {
    database.close()
  }
}

/** The bytes of everything that is stored, by file or by table. */
export async function storedBytes(folder: string): Promise<{ name: string; bytes: Buffer }[]> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => ({ name, bytes: readFileSync(join(parentPath, name)) }))
  return isOnPostgres(folder) ? [...files, ...(await tablesOf(schemaFor(folder)))] : files
}

/** Undefined if the folder itself is the store. */
function sharedAddress(folder: string): string | undefined {
  return isOnPostgres(folder) ? preparedAddress(schemaFor(folder)) : undefined
}

function isOnPostgres(folder: string): boolean {
  return process.env.TAPELINE_TEST_ENGINE === 'postgres' && folder !== ':memory:' && !folder.includes('://')
}
