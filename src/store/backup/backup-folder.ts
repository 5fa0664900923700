/** A folder of backups: its manifests and chunks, and the removal of what killed backups left behind. */
import { mkdir, readdir, readFile, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { BackupRefusedError } from '../backups.ts'
import { claimFolder, writeWhole } from './about-folder.ts'
import { openChunks, syncFolder } from './chunks.ts'
import { MAX_MANIFEST_BYTES, type Manifest, manifestName, parseManifest } from './manifest.ts'
import type { LockBackups } from './ports.ts'

export interface BackupFolder {
  readonly path: string
  readonly chunks: ReturnType<typeof openChunks>
  /** Holds the files of a running backup. */
  readonly work: string
  /** Oldest first. Throws BackupRefusedError naming the manifest that cannot be read. */
  manifests(): Promise<Manifest[]>
  /** The backup exists once its manifest is added. */
  add(manifest: Manifest): Promise<void>
  remove(manifest: Manifest): Promise<void>
  freeBytes(): Promise<number>
  close(): Promise<void>
}

/** Opens the folder for writing and creates it if it is missing. Only one backup runs at a time. */
export async function openBackupFolder(path: string, lock: LockBackups): Promise<BackupFolder> {
  const release = await claimFolder(path, 'files', lock)
  try {
    const folder = folderOf(path, release)
    await rm(folder.work, { recursive: true, force: true })
    for (const each of ['manifests', 'chunks', 'work'])
      await mkdir(join(path, each), { recursive: true, mode: 0o700 })
    await syncFolder(path)
    await removeUnfinished(join(path, 'manifests'))
    return folder
  } catch (error) {
    release()
    throw error
  }
}

/** Removes manifests of backups that were killed while the manifest was being written. */
async function removeUnfinished(manifests: string): Promise<void> {
  for (const name of await readdir(manifests)) if (name.endsWith('.new')) await rm(join(manifests, name))
}

/** Opens the folder for reading; it may be a copy on a read-only disk. */
export function readBackupFolder(path: string): Omit<BackupFolder, 'add' | 'remove'> {
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
      for (const name of names) {
        const file = join(manifests, name)
        if ((await stat(file)).size > MAX_MANIFEST_BYTES)
          throw new BackupRefusedError(`The manifest ${name} is damaged.`)
        read.push(parseManifest(await readFile(file, 'utf8'), name))
      }
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
