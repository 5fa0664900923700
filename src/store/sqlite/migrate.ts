import type { DatabaseSync } from 'node:sqlite'
import { writeTransaction } from './open.ts'

/** One step of a schema: released steps are never edited, a change is a new step with the next number. */
export interface Migration {
  version: number
  name: string
  sql: string
  /** What SQL alone cannot do; runs after it, in the same transaction. */
  convert?(database: DatabaseSync): void
}

export class NewerDatabaseError extends Error {
  override readonly name = 'NewerDatabaseError'
  readonly found: number
  readonly known: number

  constructor(label: string, found: number, known: number) {
    super(
      `The ${label} database has schema version ${found}, this release knows up to ${known}. ` +
        'It was written by a newer release: start that release, or restore a backup made before the upgrade.',
    )
    this.found = found
    this.known = known
  }
}

/**
 * Brings a database to the newest version in one transaction: either every missing step is applied or none.
 * The version is SQLite's own `user_version`, so the file needs no table for it. Two processes may start at
 * the same time: the second waits for the lock and then finds nothing to do.
 */
export function migrate(
  database: DatabaseSync,
  label: string,
  migrations: readonly Migration[],
): { from: number; to: number } {
  migrations.forEach((migration, index) => {
    if (migration.version !== index + 1) {
      throw new Error(
        `${label} migrations are not numbered in sequence: ${migration.version} at place ${index + 1}`,
      )
    }
  })
  const newest = migrations.length
  return writeTransaction(database, () => {
    const from = schemaVersion(database)
    if (from > newest) throw new NewerDatabaseError(label, from, newest)
    for (const migration of migrations.slice(from)) {
      database.exec(migration.sql)
      migration.convert?.(database)
    }
    if (from < newest) database.exec(`PRAGMA user_version = ${newest}`)
    return { from, to: newest }
  })
}

export function schemaVersion(database: DatabaseSync): number {
  const row = database.prepare('PRAGMA user_version').get()
  return Number(row?.user_version ?? 0)
}
