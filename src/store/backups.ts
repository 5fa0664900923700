/** Backups of a store, as commands show them. */

/** A sentence for the operator: nothing was backed up or restored. */
export class BackupRefusedError extends Error {
  override readonly name = 'BackupRefusedError'
}

export interface BackupProgress {
  readonly step: 'copy' | 'store' | 'verify' | 'restore'
  /** The file or the program. */
  readonly about: string
  /** Bytes of this step. */
  readonly done: number
  readonly total: number
}

export interface BackupSummary {
  /** The instant whose state it holds. */
  readonly takenAtMs: number
  readonly files: number
  readonly bytes: number
  /** What it added to the folder; the rest was there from earlier ones. */
  readonly addedBytes: number
  /** Older backups that were removed, and the bytes that this freed. */
  readonly removed: number
  readonly freedBytes: number
  /** What is missing, one sentence each. */
  readonly notes?: readonly string[]
}

export interface BackupEntry {
  readonly takenAtMs: number
  readonly release: string
  readonly files: number
  readonly bytes: number
}

export interface RestoreSummary {
  readonly takenAtMs: number
  readonly files: number
  readonly bytes: number
  /** What is left to do, one sentence each. */
  readonly notes: readonly string[]
}

/** Something that a check of backups found. */
export interface BackupFault {
  readonly takenAtMs: number
  readonly file: string
  readonly fault: string
}
