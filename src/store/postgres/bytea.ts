/** Hex text of the port, `bytea` in the tables. It is read back with `encode(…, 'hex')`. */
export function bytea(hex: string): Buffer {
  return Buffer.from(hex, 'hex')
}
