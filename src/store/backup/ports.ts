/** What a storage engine provides for backup and restore. */

export interface SnapshotFile {
  readonly name: string
  readonly bytes: number
  readonly schemaVersion: number
  /** Writes the state at that instant to a new file, regardless of later writes. */
  copyTo(path: string, onBytes: (done: number) => void): Promise<void>
  /** Called when the file is no longer needed. */
  release(): void
}

/** A store at one instant. */
export interface Snapshot {
  readonly takenAtMs: number
  readonly files: readonly SnapshotFile[]
  readonly keys: readonly { readonly name: string; readonly content: Buffer }[]
  /** Throws BackupRefusedError if keeping the files that are not released takes too much of the disk of the service. */
  assertMayContinue(): void
  close(): void
}

export interface RestoredFile {
  readonly name: string
  readonly bytes: number
  /** Undefined for files that are not databases. */
  readonly schemaVersion?: number
}

/** An empty place to restore a backup into. Nobody can open it before `finish`. */
export interface RestoreTarget {
  /** The temporary path that a file is written to first. */
  pathOf(name: string): string
  /** Checks a written file and raises its counters above any number that may have been assigned since the backup. */
  check(file: RestoredFile): void
  /** Makes the store usable. */
  finish(): Promise<void>
  close(): void
}

/** Locks a folder for one process and returns the unlock function; undefined if another process holds the lock. */
export type LockBackups = (folder: string) => (() => void) | undefined
