/**
 * Backs up a data folder that may be in use.
 *
 *   one instant of all files ─▶ each: copy ─▶ store new chunks ─▶ read all back ─▶ write manifest ─▶ remove old
 *
 * A backup exists once its manifest is written. One that is killed before leaves only chunks that nothing refers to.
 */
import { createHash } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type BackupProgress, BackupRefusedError, type BackupSummary } from '../backups.ts'
import { type BackupFolder, openBackupFolder } from './backup-folder.ts'
import { type Chunks, DamagedChunkError } from './chunks.ts'
import { type BackupFile, backupBytes, CHUNK_BYTES, FORMAT, type Manifest } from './manifest.ts'
import type { LockBackups, Snapshot } from './ports.ts'

/** Free space required in addition to the copy of the largest file. */
const SPARE_BYTES = 16 * 1024 * 1024
/** How many chunks are compressed or read at the same time. */
const AT_ONCE = 4

export interface MakeBackupOptions {
  readonly takeSnapshot: () => Promise<Snapshot>
  readonly lock: LockBackups
  readonly to: string
  readonly release: string
  /** How many backups to keep; all of them if left out. */
  readonly keep?: number
  readonly onProgress: (progress: BackupProgress) => void
}

export async function makeBackup(options: MakeBackupOptions): Promise<BackupSummary> {
  const folder = await openBackupFolder(options.to, options.lock)
  let known: Manifest[] | undefined
  try {
    known = await folder.manifests()
    const { manifest, addedBytes } = await takeBackup(folder, known, options)
    await folder.chunks.flush()
    await readBack(folder.chunks, manifest, options.onProgress)
    await folder.add(manifest)
    const removed = await removeOld(folder, [...known, manifest], options.keep)
    const { takenAtMs, files } = manifest
    return { takenAtMs, files: files.length, bytes: backupBytes(manifest), addedBytes, ...removed }
  } catch (error) {
    // The next attempt could reuse the stored chunks, but the disk space is needed now.
    if (isFull(error) && known !== undefined) await removeOld(folder, await folder.manifests(), undefined)
    throw explained(error, options.to)
  } finally {
    await folder.close()
  }
}

async function takeBackup(
  folder: BackupFolder,
  known: readonly Manifest[],
  { takeSnapshot, release, onProgress }: MakeBackupOptions,
): Promise<{ manifest: Manifest; addedBytes: number }> {
  const snapshot = await takeSnapshot()
  try {
    const { takenAtMs } = snapshot
    const identity = identityOf(snapshot)
    const other = known.find((manifest) => manifest.identity !== identity)
    if (other !== undefined)
      throw new BackupRefusedError(`${folder.path} has backups of another installation: name another folder.`)
    if (known.some((manifest) => manifest.takenAtMs >= takenAtMs))
      throw new BackupRefusedError(
        `${folder.path} has a backup that is newer than now: set the clock of this machine.`,
      )
    assertNothingLost(folder, known.at(-1), snapshot)
    await assertRoom(folder, snapshot)
    let addedBytes = 0
    const files: BackupFile[] = []
    const total = snapshot.files.reduce((sum, { bytes }) => sum + bytes, 0)
    let [copied, stored] = [0, 0]
    for (const { name, content } of snapshot.keys) {
      const put = await folder.chunks.put(content)
      addedBytes += put.addedBytes
      files.push({ name, bytes: content.length, chunks: [put.hash] })
    }
    // The largest file first: it grows fastest, and its log cannot be truncated until it is copied.
    for (const file of [...snapshot.files].sort((a, b) => b.bytes - a.bytes)) {
      const copy = join(folder.work, file.name)
      await file.copyTo(copy, (done) =>
        onProgress({ step: 'copy', about: file.name, done: copied + done, total }),
      )
      copied += file.bytes
      file.release()
      const put = await putFile(folder.chunks, copy, (done) => {
        snapshot.assertMayContinue()
        onProgress({ step: 'store', about: file.name, done: stored + done, total })
      })
      stored += file.bytes
      addedBytes += put.addedBytes
      files.push({
        name: file.name,
        bytes: put.bytes,
        schemaVersion: file.schemaVersion,
        chunks: put.hashes,
      })
      await rm(copy)
    }
    return { manifest: { format: FORMAT, release, takenAtMs, identity, files }, addedBytes }
  } finally {
    snapshot.close()
  }
}

/** The key that signs cursors is created at the first start and never changes; its hash identifies the installation. */
function identityOf({ keys }: Snapshot): string {
  const key = keys.find(({ name }) => name === 'cursor.key')
  if (key === undefined)
    throw new BackupRefusedError('The data folder has no cursor.key yet: start the service once.')
  return createHash('sha256').update('backups of ').update(key.content).digest('hex').slice(0, 32)
}

/** A backup without a file must not replace those that have it. */
function assertNothingLost(
  folder: BackupFolder,
  last: Manifest | undefined,
  { files, keys }: Snapshot,
): void {
  const names = new Set([...files, ...keys].map(({ name }) => name))
  const lost = (last?.files ?? []).map(({ name }) => name).filter((name) => !names.has(name))
  if (lost.length > 0)
    throw new BackupRefusedError(
      `The data folder has lost ${lost.join(', ')}, which the last backup in ${folder.path} has: restore it. If it was removed on purpose, name another folder for backups.`,
    )
}

/** Only the copy needs this much space, because stored chunks are compressed. */
async function assertRoom(folder: BackupFolder, { files }: Snapshot): Promise<void> {
  const largest = Math.max(...files.map(({ bytes }) => bytes))
  const free = await folder.freeBytes()
  if (free > largest + SPARE_BYTES) return
  throw new BackupRefusedError(
    `${folder.path} has ${megabytes(free)} left, and a copy of the largest database takes ${megabytes(largest + SPARE_BYTES)}.`,
  )
}

async function putFile(
  chunks: Chunks,
  path: string,
  onBytes: (done: number) => void,
): Promise<{ hashes: string[]; bytes: number; addedBytes: number }> {
  const handle = await open(path, 'r')
  const hashes: string[] = []
  let [bytes, addedBytes] = [0, 0]
  try {
    const { size } = await handle.stat()
    for (let start = 0; start < size; start += CHUNK_BYTES * AT_ONCE) {
      const pieces = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, i) => start + i * CHUNK_BYTES)
          .filter((position) => position < size)
          .map(async (position) => {
            const buffer = Buffer.alloc(Math.min(CHUNK_BYTES, size - position))
            const { bytesRead } = await handle.read(buffer, 0, buffer.length, position)
            if (bytesRead !== buffer.length) throw new Error(`${path} was cut while it was read`)
            return buffer
          }),
      )
      for (const put of await putAll(chunks, pieces)) {
        hashes.push(put.hash)
        addedBytes += put.addedBytes
      }
      bytes += pieces.reduce((sum, piece) => sum + piece.length, 0)
      onBytes(bytes)
    }
  } finally {
    await handle.close()
  }
  return { hashes, bytes, addedBytes }
}

/** Equal pieces are stored one after another, because two simultaneous writes would collide on the same file name. */
async function putAll(chunks: Chunks, pieces: readonly Buffer[]) {
  const isRepeated = pieces.some((piece, i) => pieces.slice(0, i).some((other) => other.equals(piece)))
  if (!isRepeated) return Promise.all(pieces.map((piece) => chunks.put(piece)))
  const done: Awaited<ReturnType<Chunks['put']>>[] = []
  for (const piece of pieces) done.push(await chunks.put(piece))
  return done
}

/**
 * Reads every chunk of the backup from disk, including chunks stored by earlier backups. All damaged ones are removed
 * before it fails, so the next backup stores them again if the store still has the same bytes.
 */
async function readBack(
  chunks: Chunks,
  manifest: Manifest,
  onProgress: (progress: BackupProgress) => void,
): Promise<void> {
  const total = backupBytes(manifest)
  let done = 0
  const damaged: DamagedChunkError[] = []
  const read = async (hash: string): Promise<number> => {
    try {
      return (await chunks.read(hash)).length
    } catch (error) {
      if (!(error instanceof DamagedChunkError)) throw error
      damaged.push(error)
      return 0
    }
  }
  for (const { name, chunks: hashes } of manifest.files) {
    for (let i = 0; i < hashes.length; i += AT_ONCE) {
      const lengths = await Promise.all(hashes.slice(i, i + AT_ONCE).map(read))
      done += lengths.reduce((sum, length) => sum + length, 0)
      onProgress({ step: 'verify', about: name, done, total })
    }
  }
  for (const { hash } of damaged) await chunks.remove(hash)
  if (damaged[0] !== undefined) throw damaged[0]
}

async function removeOld(
  folder: BackupFolder,
  all: readonly Manifest[],
  keep: number | undefined,
): Promise<{ removed: number; freedBytes: number }> {
  const old = keep === undefined ? [] : all.slice(0, Math.max(0, all.length - keep))
  for (const manifest of old) await folder.remove(manifest)
  const used = new Set<string>()
  for (const { files } of all.slice(old.length))
    for (const { chunks } of files) for (const hash of chunks) used.add(hash)
  return { removed: old.length, freedBytes: await folder.chunks.sweep(used) }
}

function explained(error: unknown, to: string): unknown {
  if (error instanceof DamagedChunkError)
    return new BackupRefusedError(
      `${to} was damaged: ${error.message}. Run the backup again, which stores what is damaged anew, and \`tapeline backup check --from ${to}\`, which says whether older backups are whole.`,
    )
  if (isFull(error))
    return new BackupRefusedError(`The disk of ${to} is full: nothing was added, older backups are whole.`)
  return error
}

const SQLITE_FULL = 13

function isFull(error: unknown): boolean {
  const { code, errcode } = error as { code?: string; errcode?: number }
  return code === 'ENOSPC' || code === 'EDQUOT' || errcode === SQLITE_FULL
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
