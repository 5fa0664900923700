/** Converts rows of the tables into records of the ports. */
import { ConflictError } from '../accounts.ts'

export type Row = Record<string, unknown>

export function recordOf<T>(row: Row | undefined, convert: (row: Row) => T): T | undefined {
  return row === undefined ? undefined : convert(row)
}

/** For a row whose columns were selected under the names and with the values of the record. */
export function asRecord<T>(row: Row): T {
  return { ...row } as T
}

export function numberOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value)
}

/** Runs a write of something unique, and throws ConflictError if it is taken. */
export function orConflict<T>(message: string, write: () => T): T {
  try {
    return write()
  } catch (error) {
    if (error instanceof Error && /UNIQUE constraint/.test(error.message)) throw new ConflictError(message)
    throw error
  }
}
