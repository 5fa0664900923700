import type { SecretPlace } from '../shared-secrets.ts'
import type { CopiedRow, CopiedTable, CopiedValue } from './copied-table.ts'

/** A store that is copied from or to. Nothing else uses it during the copy. */
export interface CopySide {
  /** Identifies the store without revealing a secret. */
  readonly identity: string
  tables(): Promise<CopiedTable[]>
  count(table: CopiedTable): Promise<number>
  /** Rows in key order after the given key, in batches that fit in memory. */
  read(table: CopiedTable, after?: readonly CopiedValue[]): AsyncIterable<CopiedRow[]>
  readonly secrets: SecretPlace
  /** Throws if a service has used the store since it was opened. */
  assertUnused(): Promise<void>
  close(): Promise<void>
}

/** How far a table has been copied. */
export interface CopyMark {
  /** The key of the last copied row; null before the first. */
  readonly key: readonly CopiedValue[] | null
  readonly rows: number
  readonly isDone: boolean
}

export interface CopyTarget extends CopySide {
  /**
   * Begins a copy, or resumes an unfinished one from the same source. Nobody else can open the store until the copy is
   * finished. Throws CopyRefusedError if the store contains anything else.
   */
  begin(source: string): Promise<ReadonlyMap<string, CopyMark>>
  /** Writes rows and mark in one transaction. */
  write(table: CopiedTable, rows: readonly CopiedRow[], mark: CopyMark): Promise<void>
  /** Writes everything derived from the rows: sums, indexes, next numbers. Runs again after a kill. */
  derive(): Promise<void>
  /** Makes the store usable. */
  finish(): Promise<void>
}

/** Nothing was copied; the message is for the operator. */
export class CopyRefusedError extends Error {
  override readonly name = 'CopyRefusedError'
}

/** The target's table of marks, which exists only while a copy is unfinished. */
export const MARKS_TABLE = 'store_copy'
/** The row that names the source. */
export const SOURCE_MARK = 'source'

export function assertSameSource(stored: string | undefined, source: string, target: string): void {
  if (stored === source) return
  throw new CopyRefusedError(
    `${target} has an unfinished copy of ${stored ?? 'another store'}: finish that one, or empty it first.`,
  )
}

export function assertEmpty(tables: readonly string[], target: string): void {
  if (tables.length === 0) return
  const shown =
    tables.length > 5 ? `${tables.slice(0, 5).join(', ')} and ${tables.length - 5} more` : tables.join(', ')
  throw new CopyRefusedError(
    `${target} is not empty (${shown}): copy into an empty folder, an empty database, or another schema (?schema=…).`,
  )
}

/** The form in which the target stores a mark. */
export function markText({ key, rows, isDone }: CopyMark): string {
  const plain = key?.map((value) =>
    value instanceof Uint8Array ? { hex: Buffer.from(value).toString('hex') } : value,
  )
  return JSON.stringify({ key: plain ?? null, rows, isDone })
}

export function markOf(text: string): CopyMark {
  const { key, rows, isDone } = JSON.parse(text) as {
    key: (string | number | null | { hex: string })[] | null
    rows: number
    isDone: boolean
  }
  const values = key?.map((value) =>
    typeof value === 'object' && value !== null ? Buffer.from(value.hex, 'hex') : value,
  )
  return { key: values ?? null, rows, isDone }
}
