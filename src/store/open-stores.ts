/**
 * Opens stores by address. The only place that names an engine: everything else knows the ports. An address is a
 * plain value, so that a thread opens the same stores as the one that started it.
 */
import type { Clock } from '../kit/clock.ts'
import type { RandomBytes } from '../kit/random.ts'
import { BACKUP_LOCK, kindOf } from './backup/about-folder.ts'
import { type MakeBackupOptions, makeBackup } from './backup/make-backup.ts'
import { checkChunks, listManifests, type RestoreOptions, restoreBackup } from './backup/restore-backup.ts'
import {
  type BackupEntry,
  type BackupFault,
  type BackupProgress,
  BackupRefusedError,
  type BackupSummary,
  type RestoreSummary,
} from './backups.ts'
import { CopyRefusedError, type CopySide, type CopyTarget } from './copy/copy-side.ts'
import type { Distributed, DistributeOptions, Finding, Upgrade, UpgradePlan } from './maintain.ts'
import { StoreOpenError } from './open-error.ts'
import {
  isPostgresAddress,
  type PostgresAddress,
  parsePostgresAddress,
  shownAddress,
} from './postgres/address.ts'
import { backupServer, checkBaseBackups, listBaseBackups } from './postgres/backup.ts'
import { checkServer } from './postgres/check.ts'
import { openServerSource, openServerTarget } from './postgres/copy-side.ts'
import { distributeTables } from './postgres/distribute.ts'
import { restoreServer } from './postgres/restore.ts'
import { openPostgresStores } from './postgres/stores.ts'
import { planSchemaUpgrades, upgradeSchemas } from './postgres/upgrade.ts'
import { snapshotFolder } from './sqlite/backup-source.ts'
import { DEFAULT_CACHE_MB } from './sqlite/cache-sizes.ts'
import { checkFolder } from './sqlite/check.ts'
import { openFolderSource, openFolderTarget } from './sqlite/copy-side.ts'
import { tryLock } from './sqlite/folder-lock.ts'
import { openRestoreTarget } from './sqlite/restore-target.ts'
import { openSqliteStores, type SqliteAddress } from './sqlite/stores.ts'
import { planFolderUpgrade, upgradeFolder } from './sqlite/upgrade.ts'
import type { Stores } from './stores.ts'

export { CopyRefusedError } from './copy/copy-side.ts'
export { copyStore } from './copy/copy-store.ts'
export type { FolderLock } from './sqlite/folder-lock.ts'
export {
  describeHolder,
  FolderLockedError,
  lockFolder,
  readHolder,
  SERVICE_LOCK,
} from './sqlite/folder-lock.ts'
export type { SqliteAddress } from './sqlite/stores.ts'
export { watchFiles } from './sqlite/watch-files.ts'
export type { Stores } from './stores.ts'

export type StoreAddress = SqliteAddress | PostgresAddress

export interface StorePorts {
  /** In place of the engine's own chance, for the names that it gives. */
  readonly randomBytes?: RandomBytes
}

/** Reads `postgres://user@host/database` or `sqlite:./data`; a path alone is a folder of the embedded engine. */
export function parseStoreAddress(text: string, cacheMb = DEFAULT_CACHE_MB): StoreAddress {
  if (isPostgresAddress(text)) return parsePostgresAddress(text, cacheMb)
  const [, engine = 'sqlite', folder = text] = /^([a-z]{2,}):(?!memory:)(.+)$/s.exec(text) ?? []
  if (engine !== 'sqlite') {
    throw new RangeError(`The store address names an unknown engine ${engine}; known are sqlite, postgres.`)
  }
  return { engine, folder, cacheMb }
}

/** For logs and messages: nothing secret. */
export function describeAddress(address: StoreAddress): string {
  return address.engine === 'sqlite' ? address.folder : shownAddress(address)
}

export function openStores(address: StoreAddress, clock: Clock, ports: StorePorts = {}): Stores {
  const deps = { clock, ...ports }
  return address.engine === 'sqlite' ? openSqliteStores(address, deps) : openPostgresStores(address, deps)
}

/** Looks at the store as a whole; nothing is created or changed. */
export async function checkStore(address: StoreAddress): Promise<Finding[]> {
  return address.engine === 'sqlite' ? checkFolder(address.folder) : checkServer(address)
}

/** Spreads the big tables over the servers of a distributed PostgreSQL. */
export async function distributeStore(
  address: StoreAddress,
  options: DistributeOptions,
): Promise<Distributed[]> {
  if (address.engine === 'sqlite')
    throw new StoreOpenError('Only a store in PostgreSQL can be spread over several servers.')
  return distributeTables(address, options)
}

/** Brings the tables to the version of this release; StoreOpenError where they are newer. */
export async function upgradeStore(address: StoreAddress, clock: Clock): Promise<Upgrade[]> {
  return address.engine === 'sqlite' ? upgradeFolder(address.folder, clock) : upgradeSchemas(address)
}

/** What `upgradeStore` will do; nothing is changed. */
export async function planUpgrade(address: StoreAddress): Promise<UpgradePlan[]> {
  return address.engine === 'sqlite' ? planFolderUpgrade(address.folder) : planSchemaUpgrades(address)
}

/** Backs up everything, while services work on it. BackupRefusedError says why nothing was backed up. */
export async function backupStore(
  address: StoreAddress,
  { clock, ...options }: Omit<MakeBackupOptions, 'takeSnapshot' | 'lock'> & { clock: Clock },
): Promise<BackupSummary> {
  const lock = (folder: string) => tryLock(folder, BACKUP_LOCK, clock)
  return address.engine === 'sqlite'
    ? makeBackup({ ...options, lock, takeSnapshot: () => snapshotFolder(address.folder, clock) })
    : backupServer(address, { ...options, lock })
}

/** Newest first. */
export async function listBackups(from: string): Promise<BackupEntry[]> {
  return (await kindOf(from)) === 'postgres' ? listBaseBackups(from) : listManifests(from)
}

/** Reads everything in a folder of backups. */
export async function checkBackups(
  from: string,
  onProgress: (progress: BackupProgress) => void,
): Promise<{ backups: number; faults: BackupFault[] }> {
  return (await kindOf(from)) === 'postgres' ? checkBaseBackups(from) : checkChunks(from, onProgress)
}

/**
 * Restores a backup into an empty folder: a data folder, or that of a PostgreSQL server, which has to be named.
 * BackupRefusedError says why nothing was restored.
 */
export async function restoreStore(
  { to, dataFolder }: { to: string | undefined; dataFolder: string },
  { clock, ...options }: Omit<RestoreOptions, 'openTarget'> & { clock: Clock },
): Promise<RestoreSummary> {
  if ((await kindOf(options.from)) !== 'postgres')
    return restoreBackup({
      ...options,
      openTarget: (backup) => openRestoreTarget(to ?? dataFolder, backup, clock),
    })
  if (to === undefined)
    throw new BackupRefusedError('These are backups of PostgreSQL: --to names an empty folder for its files.')
  return restoreServer({ ...options, to })
}

/** Both sides of a copy from one engine to the other; closed by the caller. CopyRefusedError where a service runs. */
export async function openCopy(
  from: StoreAddress,
  to: StoreAddress,
  clock: Clock,
): Promise<{ source: CopySide; target: CopyTarget }> {
  if (from.engine === to.engine)
    throw new CopyRefusedError(
      from.engine === 'sqlite'
        ? 'Both are folders: stop the service and copy the files.'
        : 'Both are PostgreSQL: pg_dump and pg_restore copy it.',
    )
  const source =
    from.engine === 'sqlite' ? openFolderSource(from.folder, clock) : await openServerSource(from)
  try {
    const target = to.engine === 'sqlite' ? openFolderTarget(to.folder, clock) : await openServerTarget(to)
    return { source, target }
  } catch (error) {
    await source.close()
    throw error
  }
}
