/**
 * Restores a backup into an empty data folder.
 *
 *   choose ─▶ write and check every file in a staging folder ─▶ move the files into place ─▶ remove the staging folder
 */
import { open } from 'node:fs/promises'
import { formatTime } from '../../core/time.ts'
import {
  type BackupEntry,
  type BackupFault,
  type BackupProgress,
  BackupRefusedError,
  type RestoreSummary,
} from '../backups.ts'
import { readBackupFolder } from './backup-folder.ts'
import { type Chunks, DamagedChunkError } from './chunks.ts'
import { type BackupFile, backupBytes, CHUNK_BYTES, type Manifest } from './manifest.ts'
import type { RestoredFile, RestoreTarget } from './ports.ts'

export interface RestoreOptions {
  readonly from: string
  readonly openTarget: (backup: {
    takenAtMs: number
    files: readonly RestoredFile[]
  }) => Promise<RestoreTarget>
  /** Restores the newest backup that is not later than this, or the newest of all if left out. */
  readonly atMs?: number
  readonly onProgress: (progress: BackupProgress) => void
}

export async function restoreBackup(options: RestoreOptions): Promise<RestoreSummary> {
  const { from, openTarget, onProgress } = options
  const folder = readBackupFolder(from)
  const manifest = choose(await folder.manifests(), options)
  const target = await openTarget(manifest)
  try {
    const total = backupBytes(manifest)
    let done = 0
    for (const file of manifest.files) {
      await writeFile(folder.chunks, file, target.pathOf(file.name), (bytes) => {
        done += bytes
        onProgress({ step: 'restore', about: file.name, done, total })
      })
      target.check(file)
    }
    await target.finish()
    return {
      takenAtMs: manifest.takenAtMs,
      files: manifest.files.length,
      bytes: total,
      notes: notesOf(manifest),
    }
  } catch (error) {
    if (!(error instanceof DamagedChunkError)) throw error
    throw new BackupRefusedError(
      `This backup is damaged: ${error.message}. \`tapeline backup check --from ${from}\` says which are whole; --at restores an older one.`,
    )
  } finally {
    target.close()
  }
}

/** Newest first. */
export async function listManifests(from: string): Promise<BackupEntry[]> {
  const folder = readBackupFolder(from)
  return (await folder.manifests()).reverse().map((manifest) => ({
    takenAtMs: manifest.takenAtMs,
    release: manifest.release,
    files: manifest.files.length,
    bytes: backupBytes(manifest),
  }))
}

/** Reads every chunk in a backup folder once. */
export async function checkChunks(
  from: string,
  onProgress: (progress: BackupProgress) => void,
): Promise<{ backups: number; faults: BackupFault[] }> {
  const folder = readBackupFolder(from)
  const manifests = (await folder.manifests()).reverse()
  const checked = new Map<string, string | undefined>()
  const faults: BackupFault[] = []
  const total = manifests.reduce((sum, manifest) => sum + backupBytes(manifest), 0)
  let done = 0
  for (const { takenAtMs, files } of manifests) {
    for (const { name, bytes, chunks } of files) {
      const found = new Set<string>()
      for (const hash of chunks) {
        if (!checked.has(hash)) checked.set(hash, await faultOf(folder.chunks, hash))
        const fault = checked.get(hash)
        if (fault !== undefined) found.add(fault)
      }
      const [first] = found
      if (first !== undefined) {
        const more = found.size > 1 ? ` and ${found.size - 1} more` : ''
        faults.push({ takenAtMs, file: name, fault: first + more })
      }
      done += bytes
      onProgress({ step: 'verify', about: `${formatTime(takenAtMs)} ${name}`, done, total })
    }
  }
  return { backups: manifests.length, faults }
}

async function faultOf(chunks: Chunks, hash: string): Promise<string | undefined> {
  try {
    await chunks.read(hash)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function choose(manifests: readonly Manifest[], { from, atMs }: RestoreOptions): Manifest {
  if (manifests.length === 0) throw new BackupRefusedError(`There is no backup in ${from}.`)
  const found = manifests.findLast(({ takenAtMs }) => atMs === undefined || takenAtMs <= atMs)
  if (found !== undefined) return found
  const oldest = formatTime(manifests[0]?.takenAtMs ?? 0)
  throw new BackupRefusedError(`The oldest backup in ${from} is of ${oldest}, after the wanted time.`)
}

async function writeFile(
  chunks: Chunks,
  { name, bytes, chunks: hashes }: BackupFile,
  path: string,
  onBytes: (count: number) => void,
): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    let position = 0
    for (const hash of hashes) {
      const piece = await chunks.read(hash)
      const wanted = Math.min(CHUNK_BYTES, bytes - position)
      if (piece.length !== wanted)
        throw new BackupRefusedError(`The manifest does not fit the chunks of ${name}.`)
      // Continues at the end of the last piece. A single write may store only a part, for example on a full disk.
      await handle.writeFile(piece)
      position += piece.length
      onBytes(piece.length)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function notesOf({ takenAtMs }: Manifest): string[] {
  const at = formatTime(takenAtMs)
  return [
    `This is the state of ${at}: accounts and keys made since are missing, keys revoked since are valid again.`,
    'What was recorded since is a gap; the service closes it from the history of the venues and nodes where they have it.',
    'Never start the lost service again beside this one: both would give the same event numbers.',
  ]
}
