/** Hex text as the chain writes it: lower case, two digits per byte. */
const LOWER_HEX = /^[0-9a-f]*$/
const ANY_HEX = /^[0-9a-fA-F]*$/

/** The text in lower case, or undefined unless it is whole bytes of hex (exactly `bytes` of them, if given). */
export function normaliseHex(value: unknown, bytes?: number): string | undefined {
  if (typeof value !== 'string' || value.length % 2 !== 0) return undefined
  if (bytes !== undefined && value.length !== bytes * 2) return undefined
  if (LOWER_HEX.test(value)) return value
  return ANY_HEX.test(value) ? value.toLowerCase() : undefined
}

/** The bytes of text that is known to be hex. */
export function bytesOfHex(hex: string): Uint8Array {
  const bytes = Buffer.from(hex, 'hex')
  if (bytes.length * 2 !== hex.length) throw new RangeError('not hex text')
  return bytes
}

export function hexOfBytes(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
