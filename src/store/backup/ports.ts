/** What an engine gives to a backup and takes from it: files. */

export interface SnapshotFile {
  readonly name: string
  readonly bytes: number
  readonly schemaVersion: number
  /** Writes the state of the instant to a new file, whatever was written since. */
  copyTo(path: string, onBytes: (done: number) => void): Promise<void>
  /** It is not needed any more. */
  release(): void
}

/** A store at one instant. */
export interface Snapshot {
  readonly takenAtMs: number
  readonly files: readonly SnapshotFile[]
  readonly keys: readonly { readonly name: string; readonly content: Buffer }[]
  close(): void
}

export interface RestoredFile {
  readonly name: string
  readonly bytes: number
  /** Of a database; undefined for other files. */
  readonly schemaVersion?: number
}

/** An empty place that a backup is restored into. Nobody opens it before it is finished. */
export interface RestoreTarget {
  /** Where a file is written first. */
  pathOf(name: string): string
  /** Checks a written file; its numbers go on above those that may have been given since the backup. */
  check(file: RestoredFile): void
  /** The store can be used from here on. */
  finish(): Promise<void>
  close(): void
}

/** For one process at a time; undefined when another one has it. The function ends it. */
export type LockBackups = (folder: string) => (() => void) | undefined
