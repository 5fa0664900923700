/** How the last backups of this data folder ended, in a small file for the operator's page, metrics and doctor. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const LAST_BACKUP_FILE = 'last-backup.json'
/** All names that `noteLastBackup` writes. */
export const LAST_BACKUP_FILES = [LAST_BACKUP_FILE, `${LAST_BACKUP_FILE}.new`]

export interface LastBackup {
  /** The newest successful backup. */
  readonly success?: {
    /** The instant whose state the backup holds; its age counts from here. */
    readonly takenAtMs: number
    readonly durationMs: number
    readonly to: string
    readonly bytes: number
    readonly addedBytes: number
  }
  /** Present only if it came after the newest success. */
  readonly failure?: { readonly atMs: number; readonly reason: string }
}

/** Empty before the first backup. */
export function readLastBackup(folder: string): LastBackup {
  try {
    const read = JSON.parse(readFileSync(join(folder, LAST_BACKUP_FILE), 'utf8')) as LastBackup | null
    const { success, failure } = read ?? {}
    return {
      ...(Number.isFinite(success?.takenAtMs) && success !== undefined ? { success } : {}),
      ...(Number.isFinite(failure?.atMs) && failure !== undefined ? { failure } : {}),
    }
  } catch {
    return {}
  }
}

/** A failure keeps the record of the last success. */
export function noteLastBackup(folder: string, last: LastBackup): void {
  const { success } = readLastBackup(folder)
  const file = join(folder, LAST_BACKUP_FILE)
  const text = JSON.stringify({ ...(success === undefined ? {} : { success }), ...last })
  writeFileSync(`${file}.new`, text, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
