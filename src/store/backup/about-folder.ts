/** The file that marks a folder as one of backups and names their format and kind. */
import { existsSync } from 'node:fs'
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BackupRefusedError } from '../backups.ts'
import { syncFolder } from './chunks.ts'
import { makeFolder } from './make-folder.ts'
import { FORMAT } from './manifest.ts'
import type { LockBackups } from './ports.ts'

const ABOUT = 'tapeline-backups.json'
const MAX_ABOUT_BYTES = 65_536
/** The names of the lock's files start with this. */
export const BACKUP_LOCK = 'backup'
/** What a folder counted as empty may contain: the lock, `lost+found`, and a WAL archive set up beforehand. */
const NOTHING = new Set([`${BACKUP_LOCK}.lock`, `${BACKUP_LOCK}.json`, 'lost+found', 'wal'])

/** Chunked files of the embedded engine, or the output of PostgreSQL's own tools. */
export type BackupKind = 'files' | 'postgres'

/** Creates the folder if it is missing and locks it for one backup; the returned function unlocks it. */
export async function claimFolder(path: string, kind: BackupKind, lock: LockBackups): Promise<() => void> {
  await makeFolder(path)
  const isNew = !existsSync(join(path, ABOUT))
  if (isNew) await assertEmpty(path)
  else if ((await kindOf(path)) !== kind)
    throw new BackupRefusedError(`${path} has backups of the other engine: name another folder.`)
  const release = lock(path)
  if (release === undefined) throw new BackupRefusedError(`Another backup into ${path} is running.`)
  if (!isNew) return release
  try {
    await writeWhole(join(path, ABOUT), JSON.stringify({ format: FORMAT, of: 'tapeline', kind }), path)
    return release
  } catch (error) {
    release()
    throw error
  }
}

export async function kindOf(path: string): Promise<BackupKind> {
  const file = join(path, ABOUT)
  if (!existsSync(file)) throw new BackupRefusedError(`${path} is no folder of backups.`)
  const about = await readAbout(file).catch(() => undefined)
  if (about?.of !== 'tapeline' || typeof about.format !== 'number')
    throw new BackupRefusedError(`${file} is damaged.`)
  if (about.format > FORMAT)
    throw new BackupRefusedError(`The backups in ${path} were written by a newer release: use that one.`)
  return about.kind === 'postgres' ? 'postgres' : 'files'
}

async function readAbout(file: string) {
  if ((await stat(file)).size > MAX_ABOUT_BYTES) return undefined
  return JSON.parse(await readFile(file, 'utf8')) as { format?: unknown; of?: unknown; kind?: unknown } | null
}

/** Replaces the file atomically; it is on disk when this returns. */
export async function writeWhole(file: string, text: string, folder: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
  await syncFolder(folder)
}

async function assertEmpty(path: string): Promise<void> {
  const found = (await readdir(path)).filter((name) => !NOTHING.has(name) && !name.endsWith('.new'))
  if (found.length === 0) return
  throw new BackupRefusedError(
    `${path} is neither empty nor a folder of backups (${found.slice(0, 3).join(', ')}): name another one.`,
  )
}
