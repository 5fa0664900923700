import { existsSync, statSync } from 'node:fs'
import { formatTime } from '../../core/time.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Upgrade, UpgradePlan } from '../maintain.ts'
import { StoreOpenError } from '../open-error.ts'
import { planOf } from '../plan-upgrade.ts'
import { assertAccountsKept, versionOfFile } from './emptied.ts'
import { type DatabaseFile, databaseFiles } from './files.ts'
import { isLocked, lockFolder, SERVICE_LOCK } from './folder-lock.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { assertRestored } from './unfinished-restore.ts'

/** Brings the files of a folder to the newest version. Missing files are created by whichever process writes first. */
export function upgradeFolder(folder: string, clock: Clock): Upgrade[] {
  assertRestored(folder)
  const holder = { pid: process.pid, since: formatTime(clock.now()) }
  const lock = lockFolder(folder, { name: SERVICE_LOCK, holder })
  try {
    assertAccountsKept(folder)
    return databaseFiles(folder)
      .filter(({ path }) => existsSync(path))
      .map(({ name, path, label, migrations }) => {
        const database = openDatabase({ file: path })
        try {
          return { tables: name, ...migrate(database, label, migrations) }
        } finally {
          database.close()
        }
      })
  } finally {
    lock.release()
  }
}

/**
 * For commands. Opening a file upgrades it, and a running service of an older release does not know the new tables. A
 * service takes the lock before it opens anything.
 */
export function assertFolderOfRelease(folder: string): void {
  assertRestored(folder)
  // The lock is checked last, because the check holds it for a moment, in which a starting service would find it taken.
  if (databaseFiles(folder).some(isOlder) && isLocked(folder, SERVICE_LOCK))
    throw new StoreOpenError(
      `The service that works on ${folder} is of an older release, or upgrades it just now: restart it with this release first.`,
    )
}

function isOlder({ path, migrations }: DatabaseFile): boolean {
  try {
    const found = versionOfFile(path) ?? 0
    return found > 0 && found < migrations.length
  } catch {
    // An unreadable file is reported by the code that needs it.
    return false
  }
}

/** Changes nothing; a service may run on the folder. */
export function planFolderUpgrade(folder: string): UpgradePlan[] {
  return databaseFiles(folder).flatMap(({ name, path, migrations }) => {
    const found = versionOfFile(path)
    return found === undefined ? [] : [planOf(name, { found, bytes: statSync(path).size, migrations })]
  })
}
