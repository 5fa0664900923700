import { closeSync, openSync, statSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { assertWhole } from './damaged.ts'

/** How long a connection waits for another connection's write lock before it gives up. */
const BUSY_TIMEOUT_MS = 10_000
/** A burst may grow the log beyond this size; then it is truncated to this after a checkpoint. */
const JOURNAL_SIZE_LIMIT_BYTES = 64 * 1024 * 1024

export interface OpenOptions {
  /** A path, or `:memory:`. */
  file: string
  readOnly?: boolean
  /** Page cache of this connection. */
  cacheBytes?: number
  busyTimeoutMs?: number
  /** Page size of a new file; an existing file keeps its own. */
  pageBytes?: number
  /** `off`: nothing is flushed to disk, so a crash of the machine may damage the file. */
  sync?: 'normal' | 'off'
}

/**
 * Opens a database file with the settings of this service: write-ahead log (readers never wait for the writer),
 * `synchronous=NORMAL` (a committed transaction survives the death of the process), foreign keys enforced,
 * and a busy timeout above zero.
 */
export function openDatabase(options: OpenOptions): DatabaseSync {
  const readOnly = options.readOnly ?? false
  if (!readOnly && options.file !== ':memory:') {
    createPrivately(options.file)
    assertWhole(options.file)
  }
  const database = new DatabaseSync(options.file, {
    readOnly,
    timeout: options.busyTimeoutMs ?? BUSY_TIMEOUT_MS,
    enableForeignKeyConstraints: true,
    enableDoubleQuotedStringLiterals: false,
  })
  try {
    if (!readOnly) {
      if (options.pageBytes !== undefined) database.exec(`PRAGMA page_size = ${options.pageBytes}`)
      // Allows space of deleted rows to be returned to the file system step by step. In a file that has tables the
      // setting would change nothing, but wait for other writers.
      if (isNew(database)) database.exec('PRAGMA auto_vacuum = INCREMENTAL')
      database.exec('PRAGMA journal_mode = WAL')
      database.exec(`PRAGMA synchronous = ${options.sync ?? 'normal'}`)
      database.exec(`PRAGMA journal_size_limit = ${JOURNAL_SIZE_LIMIT_BYTES}`)
    }
    // If a mapped file shrinks, a read from it ends the process by a signal; without mapping, a failed read is an
    // ordinary error.
    database.exec('PRAGMA mmap_size = 0')
    database.exec('PRAGMA temp_store = MEMORY')
    if (options.cacheBytes !== undefined) {
      database.exec(`PRAGMA cache_size = -${Math.ceil(options.cacheBytes / 1024)}`)
    }
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Whether a burst or a long reader has kept the log from being truncated. */
export function isLogTooLong(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > JOURNAL_SIZE_LIMIT_BYTES
}

function isNew(database: DatabaseSync): boolean {
  return database.prepare('PRAGMA page_count').get()?.page_count === 0
}

/**
 * Creates a file that only its owner can read, whatever the umask of the process; SQLite gives the log and its index
 * the same mode. An existing file is not opened, because closing it would end the locks that this process has on it.
 */
export function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600))
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
}

/**
 * Runs `work` in one write transaction. The lock is taken at the start (`BEGIN IMMEDIATE`): a transaction
 * that began as a reader could not be upgraded while another connection writes, whatever the busy timeout.
 */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  const { begin, commit } = statementsOf(database)
  begin.run()
  try {
    const result = work()
    commit.run()
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** Compiled once, because writers begin and commit several times a second. */
const compiled = new WeakMap<DatabaseSync, { begin: StatementSync; commit: StatementSync }>()

function statementsOf(database: DatabaseSync): { begin: StatementSync; commit: StatementSync } {
  let statements = compiled.get(database)
  if (statements === undefined) {
    statements = { begin: database.prepare('BEGIN IMMEDIATE'), commit: database.prepare('COMMIT') }
    compiled.set(database, statements)
  }
  return statements
}

/** Runs reads that must see one snapshot, whatever the writer commits in between. */
export type OneState = <T>(read: () => T) => T

export function oneStateOf(database: DatabaseSync): OneState {
  const begin = database.prepare('BEGIN')
  const commit = database.prepare('COMMIT')
  return (read) => {
    if (database.isTransaction) return read()
    begin.run()
    try {
      return read()
    } finally {
      commit.run()
    }
  }
}
