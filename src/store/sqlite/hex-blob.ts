/** The ports use hex text, the file stores bytes. */
export function blob(hex: string): Buffer {
  return Buffer.from(hex, 'hex')
}

export function hexOf(value: unknown): string {
  const bytes = value as Uint8Array
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
