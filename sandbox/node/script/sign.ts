/**
 * BIP340 keys for the simulator's own wallets. Signing costs one multiplication of the generator: the key's
 * even form is kept, the nonce is deterministic and the signature is not checked again, because thousands of
 * generated transactions must stay cheap. Whatever comes from outside is verified for real (engine.ts).
 */
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js'
import { fromHex, toHex } from '../consensus/bytes.ts'

const { Fn, BASE } = secp256k1.Point
const { taggedHash } = schnorr.utils

export interface SigningKey {
  readonly publicKey: string
  sign(message: Uint8Array): Uint8Array
}

const toNumber = (bytes: Uint8Array) => BigInt(`0x${toHex(bytes)}`)
const to32 = (value: bigint) => fromHex(value.toString(16).padStart(64, '0'))

export function signingKey(secret: string): SigningKey {
  const scalar = BigInt(`0x${secret}`)
  const point = BASE.multiply(scalar).toAffine()
  const d = point.y % 2n === 0n ? scalar : Fn.neg(scalar)
  const secretBytes = to32(d)
  const px = to32(point.x)
  return {
    publicKey: toHex(px),
    sign(message) {
      const nonce = Fn.create(toNumber(taggedHash('BIP0340/nonce', secretBytes, px, message)))
      const r = BASE.multiply(nonce).toAffine()
      const k = r.y % 2n === 0n ? nonce : Fn.neg(nonce)
      const rx = to32(r.x)
      const e = Fn.create(toNumber(taggedHash('BIP0340/challenge', rx, px, message)))
      const signature = new Uint8Array(64)
      signature.set(rx, 0)
      signature.set(to32(Fn.create(k + e * d)), 32)
      return signature
    },
  }
}
