/**
 * BIP340 keys for the simulator's own wallets. Every coinbase output is swept at some point, so a chain signs more than
 * ten times a second, and signing must be cheap: the even form of the key is cached, the signature is not verified
 * again, and the deterministic nonce has only 32 bits, so that its point is a sum of four table entries. Such a nonce
 * would reveal a real key, but these keys are derived from the seed anyway. Everything from outside is verified in full
 * (engine.ts).
 */
import { hash } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { fromHex, toHex } from '../consensus/bytes.ts'

const { Fn, BASE } = secp256k1.Point

export type SigningKey = ReturnType<typeof signingKey>

function taggedHash(tag: string): (...parts: Uint8Array[]) => Buffer {
  const tagHash = hash('sha256', tag, 'buffer')
  return (...parts) => hash('sha256', Buffer.concat([tagHash, tagHash, ...parts]), 'buffer')
}
const nonceHash = taggedHash('BIP0340/nonce')
const challengeHash = taggedHash('BIP0340/challenge')

const toNumber = (bytes: Uint8Array) => BigInt(`0x${toHex(bytes)}`)
const NONCE_BYTES = 4

/** For each byte of a nonce, lowest first, the multiples of the generator for its values. */
let nonceTable: (typeof BASE)[][] | undefined

function createNonceTable(): (typeof BASE)[][] {
  let unit = BASE
  return Array.from({ length: NONCE_BYTES }, () => {
    const multiples = [secp256k1.Point.ZERO]
    for (let i = 1; i < 256; i++) multiples.push((multiples[i - 1] ?? unit).add(unit))
    unit = (multiples[255] ?? unit).add(unit)
    return multiples
  })
}

/** The nonce and its point. Zero, which no signature may have, becomes one. */
function nonceOf(hash: Uint8Array): { nonce: bigint; point: typeof BASE } {
  nonceTable ??= createNonceTable()
  let nonce = 0n
  let point = secp256k1.Point.ZERO
  for (let at = NONCE_BYTES - 1; at >= 0; at--) {
    const byte = hash[at] ?? 0
    nonce = nonce * 256n + BigInt(byte)
    point = point.add(nonceTable[at]?.[byte] ?? secp256k1.Point.ZERO)
  }
  return nonce === 0n ? { nonce: 1n, point: BASE } : { nonce, point }
}

const to32 = (value: bigint) => fromHex(value.toString(16).padStart(64, '0'))

/** `d` and `secretBytes` are the even form of the secret. */
export function signingKey(secret: string) {
  const scalar = BigInt(`0x${secret}`)
  const { x, y } = BASE.multiplyUnsafe(scalar).toAffine()
  const d = y % 2n === 0n ? scalar : Fn.neg(scalar)
  const px = to32(x)
  return { publicKey: toHex(px), d, secretBytes: to32(d), px }
}

/** Signs all inputs of a transaction together, because the slowest step can be done once for all. */
export function signAll(inputs: readonly { key: SigningKey; message: Uint8Array }[]): Uint8Array[] {
  const nonces = inputs.map(({ key, message }) => nonceOf(nonceHash(key.secretBytes, key.px, message)))
  const inverses = secp256k1.Point.Fp.invertBatch(nonces.map(({ point }) => point.Z))
  return inputs.map(({ key, message }, i) => {
    const { nonce, point } = nonces[i] as (typeof nonces)[number]
    const r = point.toAffine(inverses[i])
    const k = r.y % 2n === 0n ? nonce : Fn.neg(nonce)
    const rx = to32(r.x)
    const e = Fn.create(toNumber(challengeHash(rx, key.px, message)))
    const signature = new Uint8Array(64)
    signature.set(rx, 0)
    signature.set(to32(Fn.create(k + e * key.d)), 32)
    return signature
  })
}
