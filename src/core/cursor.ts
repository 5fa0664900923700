import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * A cursor is opaque, signed and bound: it contains the position of a walk, and its signature covers the path
 * and the filters of that walk, so that it opens nothing else. The same place gives the same cursor, in every
 * process that shares the key.
 */
export interface CursorCodec {
  encode(binding: string, place: CursorPlace): string
  /** undefined for a cursor that is broken, forged, or belongs to another walk. */
  decode(binding: string, cursor: string): CursorPlace | undefined
}

/** Plain values only, so that one cursor has one spelling. */
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
