/** Addresses of the four networks and the three standard scripts behind them. */
import { fromHex, toHex } from './bytes.ts'
import { plainBlake2b } from './hashing.ts'

const CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const GENERATORS = [0x98f2bc8e61n, 0x79b76d99e2n, 0xf33e5fb3c4n, 0xae2eabe2a8n, 0x1e4f43e470n] as const
const PREFIXES = ['kaspa', 'kaspatest', 'kaspasim', 'kaspadev'] as const

export type AddressPrefix = (typeof PREFIXES)[number]
export type ScriptClass = 'PubKey' | 'PubKeyECDSA' | 'ScriptHash' | 'NonStandard'

const PAYLOAD_LENGTH: Record<number, number> = { 0: 32, 1: 33, 8: 32 }

function polymod(values: Iterable<number>): bigint {
  let c = 1n
  for (const value of values) {
    const top = c >> 35n
    c = ((c & 0x07ffffffffn) << 5n) ^ BigInt(value)
    GENERATORS.forEach((generator, bit) => {
      if ((top >> BigInt(bit)) & 1n) c ^= generator
    })
  }
  return c ^ 1n
}

function* checksumInput(prefix: string, data: Iterable<number>): Generator<number> {
  for (const char of prefix) yield char.charCodeAt(0) & 0x1f
  yield 0
  yield* data
}

function toFiveBits(bytes: Uint8Array): number[] {
  const out: number[] = []
  let buffer = 0
  let bits = 0
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xfff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      out.push((buffer >> bits) & 31)
    }
  }
  if (bits > 0) out.push((buffer << (5 - bits)) & 31)
  return out
}

function toEightBits(values: readonly number[]): Uint8Array {
  const out: number[] = []
  let buffer = 0
  let bits = 0
  for (const value of values) {
    buffer = ((buffer << 5) | value) & 0xfff
    bits += 5
    if (bits >= 8) {
      bits -= 8
      out.push((buffer >> bits) & 255)
    }
  }
  return Uint8Array.from(out)
}

export function encodeAddress(prefix: AddressPrefix, version: number, payload: Uint8Array): string {
  const data = toFiveBits(Uint8Array.of(version, ...payload))
  const checksum = polymod(checksumInput(prefix, [...data, 0, 0, 0, 0, 0, 0, 0, 0]))
  let text = `${prefix}:`
  for (const value of data) text += CHARSET[value]
  for (let shift = 35n; shift >= 0n; shift -= 5n) text += CHARSET[Number((checksum >> shift) & 31n)]
  return text
}

type Decoded =
  | { ok: true; prefix: AddressPrefix; version: number; payload: Uint8Array }
  /** `panics`: the input makes the real node crash instead of answering. */
  | { ok: false; panics: boolean }

export function decodeAddress(text: string): Decoded {
  const invalid: Decoded = { ok: false, panics: false }
  const colon = text.indexOf(':')
  const prefix = PREFIXES.find((known) => known === text.slice(0, colon))
  if (colon < 0 || prefix === undefined) return invalid
  const values: number[] = []
  for (const char of text.slice(colon + 1)) {
    const value = CHARSET.indexOf(char)
    if (value < 0) return invalid
    values.push(value)
  }
  if (values.length < 8 || polymod(checksumInput(prefix, values)) !== 0n) return invalid
  const bytes = toEightBits(values.slice(0, -8))
  const version = bytes[0]
  if (version === undefined || PAYLOAD_LENGTH[version] === undefined) return invalid
  const payload = bytes.subarray(1)
  if (payload.length !== PAYLOAD_LENGTH[version]) return { ok: false, panics: true }
  return { ok: true, prefix, version, payload }
}

export function scriptOfAddress(decoded: { version: number; payload: Uint8Array }): string {
  const payload = toHex(decoded.payload)
  if (decoded.version === 0) return `000020${payload}ac`
  if (decoded.version === 1) return `000021${payload}ab`
  return `0000aa20${payload}87`
}

export function classify(scriptPublicKey: string): ScriptClass {
  if (/^000020[0-9a-f]{64}ac$/.test(scriptPublicKey)) return 'PubKey'
  if (/^000021[0-9a-f]{66}ab$/.test(scriptPublicKey)) return 'PubKeyECDSA'
  if (/^0000aa20[0-9a-f]{64}87$/.test(scriptPublicKey)) return 'ScriptHash'
  return 'NonStandard'
}

/** Undefined for a script that has no address. */
export function addressOfScript(prefix: AddressPrefix, scriptPublicKey: string): string | undefined {
  switch (classify(scriptPublicKey)) {
    case 'PubKey':
      return encodeAddress(prefix, 0, fromHex(scriptPublicKey.slice(6, 70)))
    case 'PubKeyECDSA':
      return encodeAddress(prefix, 1, fromHex(scriptPublicKey.slice(6, 72)))
    case 'ScriptHash':
      return encodeAddress(prefix, 8, fromHex(scriptPublicKey.slice(8, 72)))
    case 'NonStandard':
      return undefined
  }
}

export function payToScriptHash(redeemScript: string): string {
  return `0000aa20${toHex(plainBlake2b(fromHex(redeemScript)))}87`
}

export function payToPublicKey(xOnlyPublicKey: string): string {
  return `000020${xOnlyPublicKey}ac`
}
