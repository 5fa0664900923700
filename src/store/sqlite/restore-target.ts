/** A data folder that a backup is restored into. */
import { readdirSync, rmSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { formatTime } from '../../core/time.ts'
import type { Clock } from '../../kit/clock.ts'
import { syncFolder } from '../backup/chunks.ts'
import { LAST_BACKUP_FILES } from '../backup/last-backup.ts'
import { makeFolder } from '../backup/make-folder.ts'
import { numbersWithin } from '../backup/numbers-within.ts'
import type { RestoredFile, RestoreTarget } from '../backup/ports.ts'
import { BackupRefusedError } from '../backups.ts'
import { databaseFiles } from './files.ts'
import { FolderLockedError, lockFolder, SERVICE_LOCK } from './folder-lock.ts'
import { NewerDatabaseError, schemaVersion } from './migrate.ts'
import { CONTINUE_NUMBERS } from './restore-numbers.ts'
import { RESTORE_FOLDER } from './unfinished-restore.ts'

const STATE = 'restore.json'
/** The folder of an unfinished restore is renamed to this before it is removed. */
const FINISHED = 'restore-finished'
const SPARE_BYTES = 16 * 1024 * 1024
/** Names that an empty folder may contain. A backup that found nothing there has noted its failure. */
const NOTHING = new Set([`${SERVICE_LOCK}.lock`, `${SERVICE_LOCK}.json`, 'lost+found', ...LAST_BACKUP_FILES])

/** Refuses a folder that is not empty, but removes what an unfinished restore left. */
export async function openRestoreTarget(
  folder: string,
  { takenAtMs, files }: { takenAtMs: number; files: readonly RestoredFile[] },
  clock: Clock,
): Promise<RestoreTarget> {
  assertKnown(folder, files)
  await makeFolder(folder)
  const unfinished = await namesOfUnfinished(folder)
  assertEmpty(folder, unfinished)
  const lock = lockOf(folder, clock)
  try {
    assertEmpty(folder, unfinished)
    const staging = join(folder, RESTORE_FOLDER)
    // The staging folder itself stays, because nobody opens the store while it exists.
    for (const name of [...unfinished, ...LAST_BACKUP_FILES]) rmSync(join(folder, name), { force: true })
    await mkdir(staging, { recursive: true, mode: 0o700 })
    for (const name of await readdir(staging)) if (name !== STATE) await rm(join(staging, name))
    await assertRoom(folder, files)
    const names = files.map(({ name }) => name)
    await writeFile(join(staging, `${STATE}.new`), JSON.stringify(names), { mode: 0o600, flush: true })
    await rename(join(staging, `${STATE}.new`), join(staging, STATE))
    await syncFolder(folder)
    return {
      pathOf: (name) => join(staging, name),
      check: (file) => checkFile(folder, file, numbersWithin(clock.now() - takenAtMs)),
      async finish() {
        await syncFolder(staging)
        for (const name of names) await rename(join(staging, name), join(folder, name))
        await syncFolder(folder)
        // A rename is a single step, so a kill leaves either an unfinished restore or a finished one.
        const finished = join(folder, FINISHED)
        await rename(staging, finished)
        await syncFolder(folder)
        await rm(finished, { recursive: true })
      },
      close: () => lock.release(),
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

function assertKnown(folder: string, files: readonly RestoredFile[]): void {
  const known = databaseFiles(folder)
  for (const { name, schemaVersion: version } of files) {
    if (!name.endsWith('.db')) continue
    const found = known.find((file) => `${file.name}.db` === name)
    if (found === undefined || version === undefined)
      throw new BackupRefusedError(`The backup has a file ${name} that this release does not know.`)
    if (version > found.migrations.length)
      throw new NewerDatabaseError(found.label, version, found.migrations.length)
  }
}

/** Files that an unfinished restore may already have moved into place. */
async function namesOfUnfinished(folder: string): Promise<string[]> {
  try {
    const names = JSON.parse(await readFile(join(folder, RESTORE_FOLDER, STATE), 'utf8')) as unknown
    return Array.isArray(names) ? names.filter((name) => /^[a-z0-9-]+\.(db|key)$/.test(String(name))) : []
  } catch {
    return []
  }
}

function assertEmpty(folder: string, unfinished: readonly string[]): void {
  const found = readdirSync(folder).filter(
    (name) => !NOTHING.has(name) && name !== RESTORE_FOLDER && !unfinished.includes(name),
  )
  if (found.length === 0) return
  throw new BackupRefusedError(
    `${folder} is not empty (${found.slice(0, 3).join(', ')}): restore into an empty folder.`,
  )
}

async function assertRoom(folder: string, files: readonly RestoredFile[]): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const [free, wanted] = [bavail * bsize, files.reduce((sum, { bytes }) => sum + bytes, SPARE_BYTES)]
  if (free < wanted)
    throw new BackupRefusedError(
      `${folder} has ${(free / 1e6).toFixed(1)} MB left, and the backup takes ${(wanted / 1e6).toFixed(1)} MB.`,
    )
}

function lockOf(folder: string, clock: Clock) {
  try {
    const holder = { pid: process.pid, since: formatTime(clock.now()), work: 'restore' }
    return lockFolder(folder, { name: SERVICE_LOCK, holder })
  } catch (error) {
    if (error instanceof FolderLockedError) throw new BackupRefusedError(`${error.message} Stop it first.`)
    throw error
  }
}

function checkFile(folder: string, { name, schemaVersion: version }: RestoredFile, above: number): void {
  const file = databaseFiles(folder).find((each) => `${each.name}.db` === name)
  if (file === undefined) return
  const database = new DatabaseSync(join(folder, RESTORE_FOLDER, name))
  try {
    const [first] = database.prepare('PRAGMA quick_check(1)').all()
    if (first?.quick_check !== 'ok' || schemaVersion(database) !== version)
      throw new BackupRefusedError(`The backup of ${name} is damaged: ${String(first?.quick_check)}.`)
    CONTINUE_NUMBERS[file.label]?.(database, above)
  } finally {
    database.close()
  }
}
