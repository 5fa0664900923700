/**
 * One process per folder. The lock is an exclusive transaction on a small database file: the operating system
 * holds it and releases it when the process ends, however it ends, so it cannot go stale. A file beside it names the
 * holder, for the message to a second process.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { formatTime } from '../../core/time.ts'
import type { Clock } from '../../kit/clock.ts'
import { createPrivately } from './open.ts'

/** How the holder describes itself. */
export interface LockHolder {
  readonly pid: number
  readonly since: string
  readonly [extra: string]: string | number
}

export interface FolderLock {
  release(): void
}

export class FolderLockedError extends Error {
  override readonly name = 'FolderLockedError'
  /** Undefined if the holder has not written its description yet. */
  readonly holder: LockHolder | undefined

  constructor(folder: string, holder: LockHolder | undefined) {
    const who = holder === undefined ? '' : `: ${describeHolder(holder)}`
    super(`The folder ${folder} is in use by another process${who}.`)
    this.holder = holder
  }
}

const SQLITE_BUSY = 5

/** The name of the lock of a process that works on a folder alone. */
export const SERVICE_LOCK = 'service'

export function lockFolder(
  folder: string,
  options: {
    /** Prefix of both file names. */
    name: string
    holder: LockHolder
  },
): FolderLock {
  const holderFile = join(folder, `${options.name}.json`)
  const lockFile = join(folder, `${options.name}.lock`)
  createPrivately(lockFile)
  // This process must not open the file in any other way, because closing that descriptor would release the lock.
  const database = new DatabaseSync(lockFile, { timeout: 0 })
  try {
    database.exec('PRAGMA journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error
    throw new FolderLockedError(folder, readHolder(holderFile))
  }
  writeFileSync(`${holderFile}.new`, JSON.stringify(options.holder), { mode: 0o600 })
  renameSync(`${holderFile}.new`, holderFile)
  return { release: () => database.close() }
}

/** Undefined when another process holds the lock; the returned function releases it. */
export function tryLock(folder: string, name: string, clock: Clock): (() => void) | undefined {
  try {
    const lock = lockFolder(folder, { name, holder: { pid: process.pid, since: formatTime(clock.now()) } })
    return () => lock.release()
  } catch (error) {
    if (error instanceof FolderLockedError) return undefined
    throw error
  }
}

/** Whether another process holds the lock, for callers that do not take it themselves. */
export function isLocked(folder: string, name: string): boolean {
  const file = join(folder, `${name}.lock`)
  if (!existsSync(file)) return false
  const database = new DatabaseSync(file, { readOnly: true, timeout: 0 })
  try {
    database.prepare('SELECT 1 FROM sqlite_schema').get()
    return false
  } catch (error) {
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error
    return true
  } finally {
    database.close()
  }
}

/** Who holds the lock now; undefined if nobody does, or if this user cannot read who it is. */
export function currentHolder(folder: string, name: string): LockHolder | undefined {
  const holder = readHolder(join(folder, `${name}.json`))
  // The process may have ended, and its number may belong to another one.
  return holder !== undefined && isLocked(folder, name) ? holder : undefined
}

export function describeHolder({ pid, since, ...rest }: LockHolder): string {
  return [
    `process ${pid}`,
    `since ${since}`,
    ...Object.entries(rest).map(([name, value]) => `${name} ${value}`),
  ].join(', ')
}

/** May be missing or describe the previous holder, because it is used only in messages. */
export function readHolder(file: string): LockHolder | undefined {
  try {
    const read = JSON.parse(readFileSync(file, 'utf8')) as Partial<LockHolder> | null
    return typeof read?.pid === 'number' && typeof read.since === 'string' ? (read as LockHolder) : undefined
  } catch {
    return undefined
  }
}
