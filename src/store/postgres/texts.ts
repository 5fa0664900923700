import { ConflictError } from '../accounts.ts'

/**
 * Replaces NUL characters, which this engine cannot store, in text from outside. A lookup with one then finds nothing,
 * and a receiver's answer with one does not prevent the outcomes of others from being written.
 */
export function storable<T extends string | null>(text: T): T {
  return (text?.includes('\0') ? text.replaceAll('\0', '\ufffd') : text) as T
}

const UNIQUE_VIOLATION = '23505'

/** Turns the violation of a unique key into a ConflictError with this message. */
export async function orConflict<T>(message: string, write: Promise<T>): Promise<T> {
  try {
    return await write
  } catch (error) {
    if (isUniqueViolation(error)) throw new ConflictError(message)
    throw error
  }
}

export function isUniqueViolation(error: unknown): boolean {
  return (error as { code?: unknown }).code === UNIQUE_VIOLATION
}
