/** Backups of a store, in the form in which commands show them. */

/** Nothing was backed up or restored; the message tells the operator why. */
export class BackupRefusedError extends Error {
  override readonly name = 'BackupRefusedError'
}

export interface BackupProgress {
  readonly step: 'copy' | 'store' | 'verify' | 'restore'
  /** The file or program that the step works on. */
  readonly about: string
  /** Bytes of this step. */
  readonly done: number
  readonly total: number
}

export interface BackupSummary {
  /** The instant whose state the backup holds. */
  readonly takenAtMs: number
  readonly files: number
  readonly bytes: number
  /** Bytes that this backup added to the folder; the rest was already there from earlier backups. */
  readonly addedBytes: number
  /** Older backups that were removed, and the bytes freed by that. */
  readonly removed: number
  readonly freedBytes: number
  /** What is missing from the backup, one sentence each. */
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
  /** What is left for the operator to do, one sentence each. */
  readonly notes: readonly string[]
}

/** A fault found while checking backups. */
export interface BackupFault {
  readonly takenAtMs: number
  readonly file: string
  readonly fault: string
}
