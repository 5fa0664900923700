/**
 * How much a text of a venue becomes when it is read: 16 MiB of `{},{},…` are six million objects, which no recorder's
 * heap holds. Counted without parsing, so that such a text is refused before any object exists.
 */
const COMMA = 0x2c
const OPEN = 0x7b
const OPEN_LIST = 0x5b

/** Ten times what the longest answers and frames have. */
export const MAX_JSON_VALUES = 500_000
/** Shorter texts cannot have more. */
const MIN_BYTES = MAX_JSON_VALUES

/** Values in a piece of JSON, at most; those inside of texts count too. */
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
