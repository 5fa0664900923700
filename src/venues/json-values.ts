/**
 * Estimates how many values a venue's text would parse into: 16 MiB of `{},{},…` are six million objects, more than a
 * recorder's heap can hold. The count needs no parsing, so such a text is refused before any object exists.
 */
const COMMA = 0x2c
const OPEN = 0x7b
const OPEN_LIST = 0x5b

/** Ten times the number of values in the longest answers and frames. */
export const MAX_JSON_VALUES = 500_000
/** A shorter text cannot contain more values than that. */
const MIN_BYTES = MAX_JSON_VALUES

/** Upper bound of the values in a piece of JSON; separators inside strings are counted too. */
export function countValues(bytes: Uint8Array): number {
  let count = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === COMMA || byte === OPEN || byte === OPEN_LIST) count++
  }
  return count
}

export function hasTooManyValues(bytes: Uint8Array): boolean {
  return bytes.length > MIN_BYTES && countValues(bytes) > MAX_JSON_VALUES
}
