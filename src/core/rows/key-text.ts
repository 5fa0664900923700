import { RowError } from './row-error.ts'

/** An index entry must fit into a fraction of a page, and a character takes up to three bytes. */
const MAX_KEY_LENGTH = 300

/** Refuses text that an engine could not store as part of a key, or could not find again. */
export function checkKey(field: string, text: string): void {
  if (text.includes('\0')) throw new RowError(field, 'must not contain a character zero')
  if (!fitsKey(text)) throw new RowError(field, `must not be longer than ${MAX_KEY_LENGTH} characters`)
}

export function fitsKey(text: string): boolean {
  return text.length <= MAX_KEY_LENGTH
}
