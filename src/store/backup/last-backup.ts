/** How the last backups of this data folder ended: a small file in it, for the operator's page, metrics and doctor. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const LAST_BACKUP_FILE = 'last-backup.json'

export interface LastBackup {
  /** The newest that succeeded. */
  readonly success?: {
    /** The instant whose state it holds: its age counts from here. */
    readonly takenAtMs: number
    readonly durationMs: number
    readonly to: string
    readonly bytes: number
    readonly addedBytes: number
  }
  /** Only when it came after the newest success. */
  readonly failure?: { readonly atMs: number; readonly reason: string }
}

/** Empty where there was none yet. */
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

/** A failure does not hide when the last one succeeded. */
export function noteLastBackup(folder: string, last: LastBackup): void {
  const { success } = readLastBackup(folder)
  const file = join(folder, LAST_BACKUP_FILE)
  const text = JSON.stringify({ ...(success === undefined ? {} : { success }), ...last })
  writeFileSync(`${file}.new`, text, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
