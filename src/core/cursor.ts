import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * A cursor is opaque, signed and bound to one listing: it contains a position, and its signature covers the path and
 * the filters of the listing, so that it is not valid for any other. The same position gives the same cursor in every
 * process that shares the key.
 */
export interface CursorCodec {
  encode(binding: string, place: CursorPlace): string
  /** undefined for a cursor that is malformed, forged, or belongs to another listing. */
  decode(binding: string, cursor: string): CursorPlace | undefined
}

/** Plain values only, so that a position has exactly one spelling. */
export type CursorPlace = readonly (string | number | null)[]

const SIGNATURE_BYTES = 12
const SIGNATURE_CHARS = 16

export function cursorCodec(key: Uint8Array): CursorCodec {
  const sign = (binding: string, payload: string) =>
    createHmac('sha256', key)
      .update(binding)
      .update('\0')
      .update(payload)
      .digest()
      .subarray(0, SIGNATURE_BYTES)
  return {
    encode(binding, place) {
      const payload = Buffer.from(JSON.stringify(place)).toString('base64url')
      return sign(binding, payload).toString('base64url') + payload
    },
    decode(binding, cursor) {
      const given = Buffer.from(cursor.slice(0, SIGNATURE_CHARS), 'base64url')
      const payload = cursor.slice(SIGNATURE_CHARS)
      const expected = sign(binding, payload)
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as CursorPlace
    },
  }
}
