/** The data folder: readable by its owner only, and used by one service at a time. */
import { chmodSync, globSync, lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config/config.ts'
import { formatTime } from '../core/time.ts'
import type { Clock } from '../kit/clock.ts'
import {
  describeHolder,
  type FolderLock,
  FolderLockedError,
  lockFolder,
  parseStoreAddress,
  readHolder,
  SERVICE_LOCK,
  type StoreAddress,
} from '../store/open-stores.ts'

/** Why the service cannot use this data folder, as one sentence for the operator. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError'
}

const FOLDER_MODE = 0o700
const FILE_MODE = 0o600
/** Only our own files, because the folder may contain others. */
const OURS = ['*.db', '*.db-wal', '*.db-shm', '*.key', 'service.*', '{audit,dead-letters,sandbox-node}/**']

/** Creates the folder if it is missing, and removes other users' access to our files. */
export function prepareDataFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE })
  restrict(folder)
  for (const path of globSync(OURS, { cwd: folder })) restrict(join(folder, path))
}

function restrict(path: string): void {
  try {
    const stats = lstatSync(path)
    if (!stats.isDirectory() && !stats.isFile()) return
    const mode = stats.isDirectory() ? FOLDER_MODE : FILE_MODE
    if ((stats.mode & 0o777) !== mode) chmodSync(path, mode)
  } catch (error) {
    // Nothing to do: the file was deleted in the meantime or belongs to another user, or the file system has no modes.
    if (!['ENOENT', 'EPERM', 'ENOTSUP', 'EROFS'].includes((error as { code?: string }).code ?? ''))
      throw error
  }
}

/** The URL of the service on this folder, whether it is running or not. */
export function serviceAddress({
  data,
  host,
  port,
  tlsCert,
}: Pick<Config, 'data' | 'host' | 'port' | 'tlsCert'>): string {
  const address = readHolder(join(data, `${SERVICE_LOCK}.json`))?.address
  return typeof address === 'string' ? address : `${tlsCert === null ? 'http' : 'https'}://${host}:${port}`
}

/** Where everything of this service is stored; a plain value that can be passed to threads. */
export function storeAddress({
  data,
  store,
  cacheMb,
}: Pick<Config, 'data' | 'store' | 'cacheMb'>): StoreAddress {
  try {
    return parseStoreAddress(store ?? data, cacheMb)
  } catch (error) {
    if (error instanceof RangeError) throw new ConfigError(`TAPELINE_STORE: ${error.message}`)
    throw error
  }
}

/** The service holds the lock; commands work without it. */
export function lockDataFolder(folder: string, holder: { clock: Clock; address: string }): FolderLock {
  const since = formatTime(holder.clock.now())
  try {
    return lockFolder(folder, {
      name: SERVICE_LOCK,
      holder: { pid: process.pid, since, address: holder.address },
    })
  } catch (error) {
    if (!(error instanceof FolderLockedError)) throw error
    const who = error.holder === undefined ? '' : ` (${describeHolder(error.holder)})`
    throw new DataFolderError(
      `Another Tapeline service works on the data folder ${folder}${who}. Stop it first, or set TAPELINE_DATA to another folder.`,
    )
  }
}
