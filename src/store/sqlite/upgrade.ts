import { existsSync } from 'node:fs'
import { formatTime } from '../../core/time.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Upgrade } from '../maintain.ts'
import { databaseFiles } from './files.ts'
import { lockFolder, SERVICE_LOCK } from './folder-lock.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'

/** Brings the files of a folder to the newest version; those that are not there are created by whoever writes first. */
export function upgradeFolder(folder: string, clock: Clock): Upgrade[] {
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
