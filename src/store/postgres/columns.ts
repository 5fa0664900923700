/**
 * Passes each column of many rows as one parameter. Numbers become an array. Texts, which never contain line breaks,
 * are joined by them, because in an array every quote of a JSON text would need a backslash.
 */

/** For `$1::bigint[]`, `$1::float8[]` and `$1::boolean[]`. */
export function arrayOf(values: Iterable<number | boolean>): string {
  return `{${[...values].join()}}`
}

/** Splits the texts of `linesOf` into as many elements, except that a single empty text gives none. */
export const lines = (parameter: string) => `string_to_array(${parameter}::text, E'\\n')`

export function linesOf(texts: readonly string[]): string {
  return texts.join('\n')
}

/** Bytes as hex, one value per line, for `decode(…, 'hex')`. */
export function hexLinesOf(list: readonly Uint8Array[]): string {
  return list
    .map((bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex'))
    .join('\n')
}
