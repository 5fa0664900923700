/**
 * The contents of a backup folder: one manifest per backup, and chunks that the manifests share.
 *
 *   tapeline-backups.json          marks the folder and names its format
 *   manifests/<instant>.json       one backup: its files, each a list of chunks
 *   chunks/ab/abcd….zst            a piece of a file, compressed and named by the SHA-256 of its bytes
 *   work/                          files of a running or killed backup; the next backup removes them
 */
import { BackupRefusedError } from '../backups.ts'

export const FORMAT = 1
/** A multiple of every SQLite page size. Smaller chunks repeat more often, larger ones make fewer files. */
export const CHUNK_BYTES = 256 * 1024

export interface Manifest {
  readonly format: number
  readonly release: string
  readonly takenAtMs: number
  /** Identifies the installation without revealing a secret; the same for all backups in a folder. */
  readonly identity: string
  readonly files: readonly BackupFile[]
}

export interface BackupFile {
  /** The name in the data folder. */
  readonly name: string
  readonly bytes: number
  /** Undefined for files that are not databases. */
  readonly schemaVersion?: number
  readonly chunks: readonly string[]
}

const NAME = /^[a-z0-9][a-z0-9-]*\.(db|key)$/
const HASH = /^[0-9a-f]{64}$/
const MAX_FILES = 100
/** Enough for a store of two terabytes. A longer text could not be read into one string. */
export const MAX_MANIFEST_BYTES = 500_000_000
/** The latest time that a Date can hold. */
const MAX_TIME_MS = 8_640_000_000_000_000

/** Named by time, so that manifests sort by age. */
export function manifestName(takenAtMs: number): string {
  return `${new Date(takenAtMs).toISOString().replaceAll(':', '')}.json`
}

/** Checks everything that is used as a path or a size, because a backup folder may come from anywhere. */
export function parseManifest(text: string, name: string): Manifest {
  const fault = (what: string) => new BackupRefusedError(`The manifest ${name} ${what}.`)
  let read: Partial<Manifest>
  try {
    read = JSON.parse(text) as Partial<Manifest>
  } catch {
    throw fault('is damaged')
  }
  if (typeof read !== 'object' || read === null || typeof read.format !== 'number') throw fault('is damaged')
  if (read.format > FORMAT)
    throw fault(`was written by a newer release (${String(read.release).slice(0, 40)}): use that one`)
  const { takenAtMs, files } = read
  const isGood =
    Number.isSafeInteger(takenAtMs) &&
    Math.abs(takenAtMs ?? 0) <= MAX_TIME_MS &&
    manifestName(takenAtMs ?? 0) === name &&
    typeof read.release === 'string' &&
    typeof read.identity === 'string' &&
    Array.isArray(files) &&
    files.length > 0 &&
    files.length <= MAX_FILES &&
    files.every(isFile) &&
    new Set(files.map(({ name: file }) => file)).size === files.length
  if (!isGood) throw fault('is damaged')
  return read as Manifest
}

function isFile(file: Partial<BackupFile> | null): boolean {
  if (typeof file !== 'object' || file === null) return false
  const { name, bytes = -1, chunks } = file
  return (
    typeof name === 'string' &&
    NAME.test(name) &&
    Number.isSafeInteger(bytes) &&
    bytes >= 0 &&
    Array.isArray(chunks) &&
    chunks.length === Math.ceil(bytes / CHUNK_BYTES) &&
    chunks.every((hash) => typeof hash === 'string' && HASH.test(hash))
  )
}

export function backupBytes({ files }: Pick<Manifest, 'files'>): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}
