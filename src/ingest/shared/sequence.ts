import { crc32 } from 'node:zlib'

/**
 * A number that distinguishes rows of the same instant and is the same in every recording: the venue's identity if that
 * is a number, otherwise a checksum of it.
 */
export function sequenceOf(identity: string): number {
  const own = /^\d{1,15}$/.test(identity) ? Number(identity) : Number.NaN
  return Number.isSafeInteger(own) ? own : crc32(identity)
}
