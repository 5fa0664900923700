/** Detects databases that have lost all of their content. A new file is without tables only for a moment. */
import { statSync } from 'node:fs'
import { assertWhole, DamagedDatabaseError } from './damaged.ts'
import { databaseFiles } from './files.ts'
import { schemaVersion } from './migrate.ts'
import { readDatabase } from './read-database.ts'

/** The schema version of a file: 0 if it has no tables, undefined if it is missing. */
export function versionOfFile(path: string): number | undefined {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size
  if (bytes === undefined) return undefined
  assertWhole(path)
  return bytes === 0 ? 0 : readDatabase(path, schemaVersion)
}

/**
 * The tables of the accounts are created before those of any other database. Without them beside others, the file was
 * emptied, and opening it would create them again. A process that is killed while it creates the first file leaves no
 * other one.
 */
export function assertAccountsKept(folder: string): void {
  const [accounts, ...others] = databaseFiles(folder)
  if (accounts === undefined || versionOfFile(accounts.path) !== 0) return
  if (others.some(({ path }) => (versionOfFile(path) ?? 0) > 0))
    throw new DamagedDatabaseError(accounts.path, 'it is empty, and other databases of the folder are not')
}
