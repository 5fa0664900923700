/**
 * The chain's hash functions. Each purpose has its own domain name, which is the key of the hash, so that a hash made
 * for one purpose never equals one made for another.
 */
import { blake2b } from '@noble/hashes/blake2.js'
import { blake3 } from '@noble/hashes/blake3.js'

export type Hasher = (bytes: Uint8Array) => Uint8Array

export function blake2bDomain(domain: string): Hasher {
  const options = { dkLen: 32, key: Buffer.from(domain, 'ascii') }
  return (bytes) => blake2b(bytes, options)
}

/** BLAKE3 requires a key of 32 bytes, so the name is padded with zeros. */
export function blake3Domain(domain: string): Hasher {
  const key = Buffer.alloc(32)
  key.write(domain, 'ascii')
  return (bytes) => blake3(bytes, { key })
}

/** The hash that identifies a redeem script in a script-hash address; it has no domain. */
export function scriptHash(script: Uint8Array): Uint8Array {
  return blake2b(script, { dkLen: 32 })
}
