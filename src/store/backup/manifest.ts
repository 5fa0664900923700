/**
 * What a backup consists of. A backup folder has one manifest per backup, and chunks that manifests share:
 *
 *   tapeline-backups.json          what this folder is
 *   manifests/<instant>.json       one backup: its files, each a list of chunks
 *   chunks/ab/abcd….zst            a piece of a file, named by the SHA-256 of its bytes, compressed
 *   work/                          of a backup that runs, or was killed: removed by the next one
 */
import { BackupRefusedError } from '../backups.ts'

export const FORMAT = 1
/** A multiple of every page size of SQLite. Smaller ones repeat more often, larger ones are fewer files. */
export const CHUNK_BYTES = 256 * 1024

export interface Manifest {
  readonly format: number
  /** The release that wrote it. */
  readonly release: string
  readonly takenAtMs: number
  /** Of the installation; the same for all backups in a folder. Nothing secret. */
  readonly identity: string
  readonly files: readonly BackupFile[]
}

export interface BackupFile {
  /** In the data folder. */
  readonly name: string
  readonly bytes: number
  /** Of a database; undefined for other files. */
  readonly schemaVersion?: number
  readonly chunks: readonly string[]
}

const NAME = /^[a-z0-9][a-z0-9-]*\.(db|key)$/
const HASH = /^[0-9a-f]{64}$/
const MAX_FILES = 100
/** Of a store of two terabytes; a longer text could not be read in one piece. */
export const MAX_MANIFEST_BYTES = 500_000_000
/** The last instant that has a name. */
const MAX_TIME_MS = 8_640_000_000_000_000

/** Files are named by it, so that they sort by time. */
export function manifestName(takenAtMs: number): string {
  return `${new Date(takenAtMs).toISOString().replaceAll(':', '')}.json`
}

/** Everything that is used as a path or a size is checked here: a backup folder may come from anywhere. */
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
