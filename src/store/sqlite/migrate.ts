import type { DatabaseSync } from 'node:sqlite'
import { MARKS_TABLE } from '../copy/copy-side.ts'
import type { Migration } from '../migration.ts'
import { StoreOpenError } from '../open-error.ts'
import { UnfinishedCopyError } from '../unfinished-copy.ts'
import { inTransaction } from './open.ts'

export class NewerDatabaseError extends StoreOpenError {
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

class UnreleasedDatabaseError extends StoreOpenError {
  override readonly name = 'UnreleasedDatabaseError'

  constructor(label: string) {
    super(
      `The ${label} database was written by a version before the first release, which cannot be upgraded: ` +
        'move the data folder away, or set TAPELINE_DATA to another one.',
    )
  }
}

/**
 * Marks files with a released schema by the bytes "TPLN". Files of development versions before the first release lack
 * it.
 */
export const APPLICATION_ID = 0x54504c4e

/**
 * Brings a database to the newest version in one transaction: either every missing step is applied or none.
 * The version is SQLite's own `user_version`, so the file needs no table for it. Two processes may start at
 * the same time: the second waits for the lock and then finds nothing to do.
 */
export function migrate(
  database: DatabaseSync,
  label: string,
  migrations: readonly Migration[],
  { isCopying = false } = {},
): { from: number; to: number } {
  migrations.forEach((migration, index) => {
    if (migration.version !== index + 1) {
      throw new Error(
        `${label} migrations are not numbered in sequence: ${migration.version} at place ${index + 1}`,
      )
    }
  })
  const newest = migrations.length
  function check(): number {
    const from = schemaVersion(database)
    if (from > 0 && !isReleased(database)) throw new UnreleasedDatabaseError(label)
    if (from > newest) throw new NewerDatabaseError(label, from, newest)
    if (!isCopying && isPartlyCopied(database)) throw new UnfinishedCopyError()
    return from
  }
  // Usually there is nothing to do; then opening the file does not wait for another connection that writes.
  if (check() === newest) return { from: newest, to: newest }
  return inTransaction(database, () => {
    const from = check()
    for (const migration of migrations.slice(from)) database.exec(migration.sql)
    if (from < newest)
      database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${newest}`)
    return { from, to: newest }
  })
}

/** Whether a copy into this database is unfinished. */
export function isPartlyCopied(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(MARKS_TABLE) !== undefined
}

/** Whether the schema is that of a release. */
export function isReleased(database: DatabaseSync): boolean {
  return database.prepare('PRAGMA application_id').get()?.application_id === APPLICATION_ID
}

export function schemaVersion(database: DatabaseSync): number {
  const row = database.prepare('PRAGMA user_version').get()
  return Number(row?.user_version ?? 0)
}
