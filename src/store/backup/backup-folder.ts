/** A folder of backups: what it is, its manifests, and what killed backups left in it. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BackupRefusedError } from '../backups.ts'
import { openChunks, syncFolder } from './chunks.ts'
import { FORMAT, type Manifest, manifestName, parseManifest } from './manifest.ts'
import type { LockBackups } from './ports.ts'

const ABOUT = 'tapeline-backups.json'
/** The beginning of the names of its lock. */
export const BACKUP_LOCK = 'backup'
/** What an empty folder may have: its own lock, and what file systems create. */
const NOTHING = new Set([`${BACKUP_LOCK}.lock`, `${BACKUP_LOCK}.json`, 'lost+found'])

export interface BackupFolder {
  readonly path: string
  readonly chunks: ReturnType<typeof openChunks>
  /** For files of a backup that runs. */
  readonly work: string
  /** Oldest first. BackupRefusedError names one that cannot be read. */
  manifests(): Promise<Manifest[]>
  /** From here on the backup is there. */
  add(manifest: Manifest): Promise<void>
  remove(manifest: Manifest): Promise<void>
  freeBytes(): Promise<number>
  close(): Promise<void>
}

/** To write to it: created where it is missing. One backup at a time. */
export async function openBackupFolder(path: string, lock: LockBackups): Promise<BackupFolder> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  if (!existsSync(join(path, ABOUT))) await assertEmpty(path)
  else await assertKnown(path)
  const release = lock(path)
  if (release === undefined) throw new BackupRefusedError(`Another backup into ${path} is running.`)
  try {
    const folder = folderOf(path, release)
    await rm(folder.work, { recursive: true, force: true })
    for (const each of ['manifests', 'chunks', 'work'])
      await mkdir(join(path, each), { recursive: true, mode: 0o700 })
    if (!existsSync(join(path, ABOUT)))
      await writeWhole(join(path, ABOUT), JSON.stringify({ format: FORMAT, of: 'tapeline' }))
    return folder
  } catch (error) {
    release()
    throw error
  }
}

/** To read from it; it may be a copy on a read-only disk. */
export async function readBackupFolder(path: string): Promise<Omit<BackupFolder, 'add' | 'remove'>> {
  if (!existsSync(join(path, ABOUT))) throw new BackupRefusedError(`${path} is no folder of backups.`)
  await assertKnown(path)
  return folderOf(path, () => {})
}

function folderOf(path: string, release: () => void): BackupFolder {
  const manifests = join(path, 'manifests')
  const work = join(path, 'work')
  return {
    path,
    work,
    chunks: openChunks(join(path, 'chunks')),
    async manifests() {
      const names = (await readdir(manifests)).filter((name) => name.endsWith('.json')).sort()
      const read: Manifest[] = []
      for (const name of names) read.push(parseManifest(await readFile(join(manifests, name), 'utf8'), name))
      return read
    },
    add: (manifest) =>
      writeWhole(join(manifests, manifestName(manifest.takenAtMs)), JSON.stringify(manifest), manifests),
    async remove({ takenAtMs }) {
      await rm(join(manifests, manifestName(takenAtMs)))
      await syncFolder(manifests)
    },
    async freeBytes() {
      const { bavail, bsize } = await statfs(path)
      return bavail * bsize
    },
    async close() {
      await rm(work, { recursive: true, force: true }).catch(() => {})
      release()
    },
  }
}

async function assertEmpty(path: string): Promise<void> {
  const found = (await readdir(path)).filter((name) => !NOTHING.has(name) && !name.endsWith('.new'))
  if (found.length === 0) return
  throw new BackupRefusedError(
    `${path} is neither empty nor a folder of backups (${found.slice(0, 3).join(', ')}): name another one.`,
  )
}

async function assertKnown(path: string): Promise<void> {
  const about = await readFile(join(path, ABOUT), 'utf8').then(
    (text) => JSON.parse(text) as { format?: unknown; of?: unknown } | null,
    () => undefined,
  )
  if (about?.of !== 'tapeline' || typeof about.format !== 'number')
    throw new BackupRefusedError(`${join(path, ABOUT)} is damaged.`)
  if (about.format > FORMAT)
    throw new BackupRefusedError(`The backups in ${path} were written by a newer release: use that one.`)
}

/** Atomically, and on the disk when it returns. */
async function writeWhole(file: string, text: string, folder?: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
  if (folder !== undefined) await syncFolder(folder)
}
