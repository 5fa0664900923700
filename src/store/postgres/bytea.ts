/** Converts the port's hex text for a `bytea` column; queries read it back with `encode(…, 'hex')`. */
export function bytea(hex: string): Buffer {
  return Buffer.from(hex, 'hex')
}
