/**
 * Columns of many rows as one parameter each. Numbers are an array; texts are joined by line breaks, which none of them
 * has: an array of JSON texts would need a backslash before each of their quotes.
 */

/** For `$1::bigint[]`, `$1::float8[]` and `$1::boolean[]`. */
export function arrayOf(values: Iterable<number | boolean>): string {
  return `{${[...values].join()}}`
}

/** The texts of `linesOf`: with as many elements, but for a single empty text, which is none. */
export const lines = (parameter: string) => `string_to_array(${parameter}::text, E'\\n')`

export function linesOf(texts: readonly string[]): string {
  return texts.join('\n')
}

/** Bytes, one line each. `decode(…, 'hex')` reads them. */
export function hexLinesOf(list: readonly Uint8Array[]): string {
  return list
    .map((bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex'))
    .join('\n')
}
