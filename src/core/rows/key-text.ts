import { RowError } from './row-error.ts'

/** An entry of an index has room for a part of a page; a character takes up to three bytes. */
const MAX_KEY_LENGTH = 300

/** A text as part of a key: what an engine could not store, or not find again, is refused. */
export function checkKey(field: string, text: string): void {
  if (text.includes('\0')) throw new RowError(field, 'must not contain a character zero')
  if (!fitsKey(text)) throw new RowError(field, `must not be longer than ${MAX_KEY_LENGTH} characters`)
}

export function fitsKey(text: string): boolean {
  return text.length <= MAX_KEY_LENGTH
}
