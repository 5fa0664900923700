import { ConflictError } from '../accounts.ts'

/**
 * Text from outside as this engine can store it: it has no character zero. What is looked up with one is then simply not
 * found, and what a receiver answers with one cannot stop the outcomes of others from being written.
 */
export function storable<T extends string | null>(text: T): T {
  return (text?.includes('\0') ? text.replaceAll('\0', '\ufffd') : text) as T
}

const UNIQUE_VIOLATION = '23505'

/** A write that names something unique. */
export async function orConflict<T>(message: string, write: Promise<T>): Promise<T> {
  try {
    return await write
  } catch (error) {
    if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) throw new ConflictError(message)
    throw error
  }
}
