import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { formatTime } from '../../core/time.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Upgrade, UpgradePlan } from '../maintain.ts'
import { planOf } from '../plan-upgrade.ts'
import { databaseFiles } from './files.ts'
import { lockFolder, SERVICE_LOCK } from './folder-lock.ts'
import { migrate, schemaVersion } from './migrate.ts'
import { openDatabase } from './open.ts'
import { assertRestored } from './unfinished-restore.ts'

/** Brings the files of a folder to the newest version; those that are not there are created by whoever writes first. */
export function upgradeFolder(folder: string, clock: Clock): Upgrade[] {
  assertRestored(folder)
  const holder = { pid: process.pid, since: formatTime(clock.now()) }
  const lock = lockFolder(folder, { name: SERVICE_LOCK, holder })
  try {
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

/** Changes nothing; a service may run on the folder. */
export function planFolderUpgrade(folder: string): UpgradePlan[] {
  return databaseFiles(folder)
    .filter(({ path }) => existsSync(path))
    .map(({ name, path, migrations }) => {
      const database = new DatabaseSync(path, { readOnly: true })
      try {
        return planOf(name, { found: schemaVersion(database), bytes: statSync(path).size, migrations })
      } finally {
        database.close()
      }
    })
}
