import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { openDatabase } from './open.ts'

/**
 * Reads a database, whether or not a service uses it. An ordinary connection that only reads would leave a log and its
 * index beside a file that nobody else uses, so a file without a log is read as it is. If it was written to meanwhile,
 * it is read again over an ordinary connection, whose log its other users remove.
 */
export function readDatabase<T>(path: string, read: (database: DatabaseSync) => T): T {
  if (statSync(`${path}-wal`, { throwIfNoEntry: false }) === undefined) {
    const before = stateOf(path)
    const found = attempt(() => readOver(openUnlocked(path), read))
    if (stateOf(path) === before) return found()
  }
  return readOver(openDatabase({ file: path, readOnly: true }), read)
}

function readOver<T>(database: DatabaseSync, read: (database: DatabaseSync) => T): T {
  try {
    return read(database)
  } finally {
    database.close()
  }
}

/** Takes no locks and creates no files, as on a disk that is read-only. */
function openUnlocked(path: string): DatabaseSync {
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return new DatabaseSync(url, { readOnly: true })
}

function stateOf(path: string): string {
  const { ino, size, mtimeNs } = statSync(path, { bigint: true })
  return `${ino} ${size} ${mtimeNs}`
}

/** The result of the work, or its error, for later. */
function attempt<T>(work: () => T): () => T {
  try {
    const result = work()
    return () => result
  } catch (error) {
    return () => {
      throw error
    }
  }
}
