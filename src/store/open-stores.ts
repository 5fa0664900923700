/**
 * Opens stores by address. This is the only place that names an engine; everything else uses the ports. An address is a
 * plain value, so that a thread can open the same stores as the thread that started it.
 *
 * Only the code that opens stores is imported up front. The code that checks, copies, upgrades and backs them up is
 * imported on demand, because otherwise every thread would keep it in memory.
 */
import type { Clock } from '../kit/clock.ts'
import type { RandomBytes } from '../kit/random.ts'
import type { MakeBackupOptions } from './backup/make-backup.ts'
import type { RestoreOptions } from './backup/restore-backup.ts'
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
import { openPostgresStores } from './postgres/stores.ts'
import { DEFAULT_CACHE_MB } from './sqlite/cache-sizes.ts'
import { tryLock } from './sqlite/folder-lock.ts'
import { openSqliteStores, type SqliteAddress } from './sqlite/stores.ts'
import type { Stores } from './stores.ts'

export { CopyRefusedError } from './copy/copy-side.ts'
export { copyStore } from './copy/copy-store.ts'
export type { FolderLock } from './sqlite/folder-lock.ts'
export {
  currentHolder,
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
  /** Replaces the engine's own random source for the names that it generates. */
  readonly randomBytes?: RandomBytes
}

/** Parses `postgres://user@host/database` or `sqlite:./data`; a plain path is a folder of the embedded engine. */
export function parseStoreAddress(text: string, cacheMb = DEFAULT_CACHE_MB): StoreAddress {
  if (isPostgresAddress(text)) return parsePostgresAddress(text, cacheMb)
  const [, engine = 'sqlite', folder = text] = /^([a-z]{2,}):(?!memory:)(.+)$/s.exec(text) ?? []
  if (engine !== 'sqlite') {
    throw new RangeError(`The store address names an unknown engine ${engine}; known are sqlite, postgres.`)
  }
  return { engine, folder, cacheMb }
}

/** For logs and messages; contains nothing secret. */
export function describeAddress(address: StoreAddress): string {
  return address.engine === 'sqlite' ? address.folder : shownAddress(address)
}

export function openStores(address: StoreAddress, clock: Clock, ports: StorePorts = {}): Stores {
  const deps = { clock, ...ports }
  return address.engine === 'sqlite' ? openSqliteStores(address, deps) : openPostgresStores(address, deps)
}

/** Checks the store as a whole; nothing is created or changed. */
export async function checkStore(address: StoreAddress): Promise<Finding[]> {
  if (address.engine === 'sqlite') return (await import('./sqlite/check.ts')).checkFolder(address.folder)
  return (await import('./postgres/check.ts')).checkServer(address)
}

/** Distributes the large tables over the servers of a distributed PostgreSQL. */
export async function distributeStore(
  address: StoreAddress,
  options: DistributeOptions,
): Promise<Distributed[]> {
  if (address.engine === 'sqlite')
    throw new StoreOpenError('Only a store in PostgreSQL can be spread over several servers.')
  return (await import('./postgres/distribute.ts')).distributeTables(address, options)
}

/** Brings the tables to the version of this release; throws StoreOpenError if they are newer. */
export async function upgradeStore(address: StoreAddress, clock: Clock): Promise<Upgrade[]> {
  if (address.engine === 'sqlite')
    return (await import('./sqlite/upgrade.ts')).upgradeFolder(address.folder, clock)
  return (await import('./postgres/upgrade.ts')).upgradeSchemas(address)
}

/** What `upgradeStore` would do; nothing is changed. */
export async function planUpgrade(address: StoreAddress): Promise<UpgradePlan[]> {
  if (address.engine === 'sqlite')
    return (await import('./sqlite/upgrade.ts')).planFolderUpgrade(address.folder)
  return (await import('./postgres/upgrade.ts')).planSchemaUpgrades(address)
}

/**
 * Commands call this before they open a store, because opening a folder upgrades it. On PostgreSQL, two releases may
 * run side by side while processes are replaced one by one.
 */
export async function assertNoOlderService(address: StoreAddress): Promise<void> {
  if (address.engine === 'sqlite') (await import('./sqlite/upgrade.ts')).assertFolderOfRelease(address.folder)
}

/** Backs up everything while services keep running. Throws BackupRefusedError if nothing could be backed up. */
export async function backupStore(
  address: StoreAddress,
  {
    clock,
    minFreeBytes = null,
    ...options
  }: Omit<MakeBackupOptions, 'takeSnapshot' | 'lock'> & { clock: Clock; minFreeBytes?: number | null },
): Promise<BackupSummary> {
  const { BACKUP_LOCK } = await import('./backup/about-folder.ts')
  const lock = (folder: string) => tryLock(folder, BACKUP_LOCK, clock)
  if (address.engine !== 'sqlite')
    return (await import('./postgres/backup.ts')).backupServer(address, { ...options, lock })
  const { makeBackup } = await import('./backup/make-backup.ts')
  const { snapshotFolder } = await import('./sqlite/backup-source.ts')
  return makeBackup({
    ...options,
    lock,
    takeSnapshot: () => snapshotFolder(address.folder, clock, { minFreeBytes }),
  })
}

/** Newest first. */
export async function listBackups(from: string): Promise<BackupEntry[]> {
  return (await isOfServer(from))
    ? (await import('./postgres/backup.ts')).listBaseBackups(from)
    : (await import('./backup/restore-backup.ts')).listManifests(from)
}

/** Reads and verifies everything in a folder of backups. */
export async function checkBackups(
  from: string,
  onProgress: (progress: BackupProgress) => void,
): Promise<{ backups: number; faults: BackupFault[] }> {
  return (await isOfServer(from))
    ? (await import('./postgres/backup.ts')).checkBaseBackups(from)
    : (await import('./backup/restore-backup.ts')).checkChunks(from, onProgress)
}

/**
 * Restores a backup into an empty folder: a data folder, or a PostgreSQL server's folder, which must be named. Throws
 * BackupRefusedError if nothing was restored.
 */
export async function restoreStore(
  { to, dataFolder }: { to: string | undefined; dataFolder: string },
  { clock, ...options }: Omit<RestoreOptions, 'openTarget'> & { clock: Clock },
): Promise<RestoreSummary> {
  if (!(await isOfServer(options.from))) {
    const { restoreBackup } = await import('./backup/restore-backup.ts')
    const { openRestoreTarget } = await import('./sqlite/restore-target.ts')
    return restoreBackup({
      ...options,
      openTarget: (backup) => openRestoreTarget(to ?? dataFolder, backup, clock),
    })
  }
  if (to === undefined)
    throw new BackupRefusedError('These are backups of PostgreSQL: --to names an empty folder for its files.')
  return (await import('./postgres/restore.ts')).restoreServer({ ...options, to, clock })
}

/** Whether a folder holds backups of a PostgreSQL server. */
async function isOfServer(folder: string): Promise<boolean> {
  const { kindOf } = await import('./backup/about-folder.ts')
  return (await kindOf(folder)) === 'postgres'
}

/**
 * Both sides of a copy from one engine to the other; the caller closes them. Throws CopyRefusedError if a service runs.
 */
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
  const folders = await import('./sqlite/copy-side.ts')
  const servers = await import('./postgres/copy-side.ts')
  const source =
    from.engine === 'sqlite'
      ? folders.openFolderSource(from.folder, clock)
      : await servers.openServerSource(from)
  try {
    const target =
      to.engine === 'sqlite' ? folders.openFolderTarget(to.folder, clock) : await servers.openServerTarget(to)
    return { source, target }
  } catch (error) {
    await source.close()
    throw error
  }
}
