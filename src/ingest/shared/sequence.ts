import { crc32 } from 'node:zlib'

/**
 * A number that distinguishes rows of one instant, the same in every recording: the venue's own number where it is
 * one, else a checksum of the venue's identity.
 */
export function sequenceOf(identity: string): number {
  const own = /^\d{1,15}$/.test(identity) ? Number(identity) : Number.NaN
  return Number.isSafeInteger(own) ? own : crc32(identity)
}
