import type { SecretPlace } from '../shared-secrets.ts'
import type { CopiedRow, CopiedTable, CopiedValue } from './copied-table.ts'

/** A store that is copied, or copied to. Nothing else works on it meanwhile. */
export interface CopySide {
  /** The same for the same store, and nothing secret. */
  readonly identity: string
  tables(): Promise<CopiedTable[]>
  count(table: CopiedTable): Promise<number>
  /** Rows in the order of their keys, after this one, in batches that fit in memory. */
  read(table: CopiedTable, after?: readonly CopiedValue[]): AsyncIterable<CopiedRow[]>
  readonly secrets: SecretPlace
  /** Throws when a service has worked on it since it was opened. */
  assertUnused(): Promise<void>
  close(): Promise<void>
}

/** How far a table is copied. */
export interface CopyMark {
  /** Of the last row; null before the first. */
  readonly key: readonly CopiedValue[] | null
  readonly rows: number
  readonly isDone: boolean
}

export interface CopyTarget extends CopySide {
  /**
   * Begins a copy, or goes on with the unfinished one from the same source. While it is unfinished nobody else can open
   * the store. CopyRefusedError where something else is stored.
   */
  begin(source: string): Promise<ReadonlyMap<string, CopyMark>>
  /** Rows and mark in one transaction. */
  write(table: CopiedTable, rows: readonly CopiedRow[], mark: CopyMark): Promise<void>
  /** Writes what follows from the rows: sums, indexes, numbers that are given next. Done again after a kill. */
  derive(): Promise<void>
  /** The store can be used. */
  finish(): Promise<void>
}

/** A sentence for the operator: nothing was copied. */
export class CopyRefusedError extends Error {
  override readonly name = 'CopyRefusedError'
}

/** The table of marks in the target; it is there while a copy is unfinished. */
export const MARKS_TABLE = 'store_copy'
/** Its row about the source. */
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

/** As the target stores it. */
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
