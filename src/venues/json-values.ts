/**
 * Estimates how many values a venue's text would parse into: 16 MiB of `{},{},…` are six million objects, more than a
 * recorder's heap can hold. The count needs no parsing, so such a text is refused before any object exists.
 */
const COMMA = 0x2c
const OPEN = 0x7b
const OPEN_LIST = 0x5b

/** Ten times the number of values in the longest answers. */
export const MAX_JSON_VALUES = 500_000
/**
 * For one frame of a socket, which is parsed in one turn beside all other sockets. The longest that a venue can send are
 * the two hundred Polymarket books of one socket, each with an order at all of its 99 prices: 61,000 values, 2 MB.
 */
const MAX_FRAME_VALUES = 100_000
const MAX_FRAME_BYTES = 4 * 1024 * 1024

/** Upper bound of the values in a piece of JSON; separators inside strings are counted too. */
export function countValues(bytes: Uint8Array): number {
  let count = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === COMMA || byte === OPEN || byte === OPEN_LIST) count++
  }
  return count
}

export function hasTooManyValues(bytes: Uint8Array, max = MAX_JSON_VALUES): boolean {
  // A text with fewer bytes cannot contain more values.
  return bytes.length > max && countValues(bytes) > max
}

export function isFrameTooLarge(bytes: Uint8Array): boolean {
  return bytes.length > MAX_FRAME_BYTES || hasTooManyValues(bytes, MAX_FRAME_VALUES)
}
