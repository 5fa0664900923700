/**
 * The state of a data folder at one instant, while a service writes to it. All files are locked for writing, a read
 * transaction begins on each, and the locks are released; writers wait for a few milliseconds. The readers see what a
 * kill of the service at that instant would have left.
 */
import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../../kit/clock.ts'
import type { Snapshot, SnapshotFile } from '../backup/ports.ts'
import { BackupRefusedError } from '../backups.ts'
import { SECRET_BYTES } from '../shared-secrets.ts'
import { assertWhole } from './damaged.ts'
import { type DatabaseFile, databaseFiles, KEY_FILES } from './files.ts'
import { isPartlyCopied, isReleased, NewerDatabaseError, schemaVersion } from './migrate.ts'
import { openDatabase } from './open.ts'
import { readDatabase } from './read-database.ts'
import { assertRestored } from './unfinished-restore.ts'

/** Writers give up after ten seconds. The locks are held for much less, even if one of them is hard to get. */
const LOCK_MS = 1_000
const ATTEMPTS = 30
const PAUSE_MS = 200
const PAGES_PER_STEP = 1_024
/** While a file waits to be copied, its log only grows. A slow backup must not fill the disk of the service. */
const MAX_LOG_BYTES = 8 * 1024 ** 3

export interface FolderSnapshot extends Snapshot {
  /** Readers of the state at that instant, by file name. */
  readonly databases: ReadonlyMap<string, DatabaseSync>
}

/** The free space on the disk of the service below which logs must not take more than is left. */
interface DiskLimit {
  /** Null disables the check. */
  readonly minFreeBytes?: number | null
  readonly freeBytes?: () => number
}

export async function snapshotFolder(
  folder: string,
  clock: Clock,
  { minFreeBytes = null, freeBytes = () => freeBytesOf(folder) }: DiskLimit = {},
): Promise<FolderSnapshot> {
  const there = databaseFiles(folder).filter(({ path }) => existsSync(path))
  if (!there.some(({ name }) => name === 'accounts'))
    throw new BackupRefusedError(`${folder} has no databases of this service.`)
  assertRestored(folder)
  // Before any is opened for writing, which would make a database of an empty file.
  for (const { path } of there) {
    assertWhole(path)
    if (statSync(path).size === 0) throw emptied(path)
    readDatabase(path, (database) => assertFilled(path, database))
  }
  const { takenAtMs, readers } = await atOneInstant(there, clock)
  const close = () => {
    for (const reader of readers) if (reader.isOpen) reader.close()
  }
  try {
    const bytesBefore = there.map(({ path }) => logBytes(path))
    const assertLogs = () => {
      let grown = 0
      for (const [index, { path }] of there.entries()) {
        if (!readers[index]?.isOpen) continue
        assertLog(path)
        grown += Math.max(0, logBytes(path) - (bytesBefore[index] ?? 0))
      }
      if (minFreeBytes === null || grown === 0) return
      const free = freeBytes()
      if (free < minFreeBytes && grown > free)
        throw new BackupRefusedError(
          `The disk of ${folder} has ${megabytes(free)} left, and its logs grew by ${megabytes(grown)} meanwhile: the backup would fill it.`,
        )
    }
    const files = there.map((file, index) => snapshotOf(file, readers[index] as DatabaseSync, assertLogs))
    const keys = KEY_FILES.filter((name) => existsSync(join(folder, name))).map((name) =>
      readKey(folder, name),
    )
    const databases = new Map(files.map(({ name }, index) => [name, readers[index] as DatabaseSync]))
    return { takenAtMs, files, keys, databases, assertMayContinue: assertLogs, close }
  } catch (error) {
    close()
    throw error
  }
}

async function atOneInstant(
  files: readonly DatabaseFile[],
  clock: Clock,
): Promise<{ takenAtMs: number; readers: DatabaseSync[] }> {
  const writers: DatabaseSync[] = []
  const readers: DatabaseSync[] = []
  try {
    for (const { path } of files) {
      const writer = openDatabase({ file: path })
      writers.push(writer)
      writer.exec(`PRAGMA busy_timeout = ${LOCK_MS}`)
      // The last connection to a file removes its log, which one that cannot write would leave behind.
      const reader = openDatabase({ file: path })
      readers.push(reader)
      reader.exec('PRAGMA query_only = ON')
    }
    for (let attempt = 1; !lockAll(writers); attempt++) {
      if (attempt === ATTEMPTS)
        throw new BackupRefusedError('A write to the data folder takes too long: try again later.')
      await wait(PAUSE_MS)
    }
    const takenAtMs = clock.now()
    for (const reader of readers) {
      reader.exec('BEGIN')
      // A read transaction begins with its first read.
      reader.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get()
    }
    return { takenAtMs, readers }
  } catch (error) {
    for (const reader of readers) reader.close()
    throw error
  } finally {
    for (const writer of writers) writer.close()
  }
}

/** Locks all or none. */
function lockAll(databases: readonly DatabaseSync[]): boolean {
  const SQLITE_BUSY = 5
  try {
    for (const database of databases) database.exec('BEGIN IMMEDIATE')
    return true
  } catch (error) {
    for (const database of databases) if (database.isTransaction) database.exec('ROLLBACK')
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false
    throw error
  }
}

function assertLog(path: string): void {
  const bytes = logBytes(path)
  if (bytes > MAX_LOG_BYTES)
    throw new BackupRefusedError(
      `The log of ${path} grew to ${megabytes(bytes)} meanwhile: the disk of the backup is too slow.`,
    )
}

function logBytes(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}

function snapshotOf(
  { name, label, migrations, path }: DatabaseFile,
  database: DatabaseSync,
  assertLogs: () => void,
): SnapshotFile {
  assertFilled(path, database)
  const version = schemaVersion(database)
  if (version > migrations.length) throw new NewerDatabaseError(label, version, migrations.length)
  if (isPartlyCopied(database))
    throw new BackupRefusedError(`A copy into ${path} is unfinished: there is nothing to back up yet.`)
  const pageBytes = Number(database.prepare('PRAGMA page_size').get()?.page_size)
  const pages = Number(database.prepare('PRAGMA page_count').get()?.page_count)
  return {
    name: `${name}.db`,
    bytes: pages * pageBytes,
    schemaVersion: version,
    async copyTo(target, onBytes) {
      await backup(database, target, {
        rate: PAGES_PER_STEP,
        progress({ totalPages, remainingPages }) {
          assertLogs()
          onBytes((totalPages - remainingPages) * pageBytes)
        },
      })
      assertCopied(target, path)
      onBytes(pages * pageBytes)
    },
    // The file's log can be truncated again afterwards.
    release: () => database.close(),
  }
}

function readKey(folder: string, name: string): { name: string; content: Buffer } {
  const content = readFileSync(join(folder, name))
  if (content.length !== SECRET_BYTES)
    throw new BackupRefusedError(
      `${join(folder, name)} has ${content.length} bytes, not ${SECRET_BYTES}: restore it from an older backup.`,
    )
  return { name, content }
}

/** An emptied file must not be backed up, because older backups would be removed in its favour. */
function assertFilled(path: string, database: DatabaseSync): void {
  if (schemaVersion(database) === 0) throw emptied(path)
  if (!isReleased(database))
    throw new BackupRefusedError(`The database ${path} was not written by a release of this service.`)
}

function emptied(path: string): BackupRefusedError {
  return new BackupRefusedError(
    `The database ${path} is empty: restore it from an older backup, or remove it if nothing was ever stored in it.`,
  )
}

/** A damaged file must not be backed up, because older backups would be removed in its favour. */
function assertCopied(copy: string, path: string): void {
  const MAX_FAULTS = 3
  const database = new DatabaseSync(copy)
  try {
    // Without a log beside it, the file is complete by itself.
    database.exec('PRAGMA journal_mode = DELETE')
    const faults = database
      .prepare(`PRAGMA quick_check(${MAX_FAULTS})`)
      .all()
      .map(({ quick_check }) => String(quick_check))
      .filter((text) => text !== 'ok')
    if (faults.length > 0)
      throw new BackupRefusedError(
        `The database ${path} is damaged (${faults.join('; ')}): restore it from an older backup.`,
      )
  } finally {
    database.close()
  }
  if (statSync(copy).size === 0) throw new BackupRefusedError(`The database ${path} could not be read.`)
}
