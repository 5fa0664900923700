import { join } from 'node:path'
import { ENVIRONMENTS } from '../../core/environment.ts'
import type { Migration } from '../migration.ts'
import { ACCOUNTS_MIGRATIONS } from './accounts-schema.ts'
import { CHAIN_MIGRATIONS } from './chain-schema.ts'
import { ENVIRONMENT_MIGRATIONS } from './environment-schema.ts'
import { JOBS_MIGRATIONS } from './jobs-schema.ts'

export const WEBHOOK_KEY = 'webhook.key'
/** The stored data is unusable without these. They are written once, before any data that needs them. */
export const KEY_FILES = [WEBHOOK_KEY, 'cursor.key']

export interface DatabaseFile {
  readonly name: string
  readonly path: string
  readonly label: string
  readonly migrations: readonly Migration[]
}

/** All database files that a folder may have. */
export function databaseFiles(folder: string): DatabaseFile[] {
  const file = (name: string, label: string, migrations: readonly Migration[]): DatabaseFile => ({
    name,
    path: join(folder, `${name}.db`),
    label,
    migrations,
  })
  return [
    file('accounts', 'accounts', ACCOUNTS_MIGRATIONS),
    ...ENVIRONMENTS.flatMap((environment) => [
      file(environment, 'environment', ENVIRONMENT_MIGRATIONS),
      file(`${environment}-chain`, 'chain', CHAIN_MIGRATIONS),
      file(`${environment}-webhooks`, 'jobs', JOBS_MIGRATIONS),
    ]),
  ]
}
