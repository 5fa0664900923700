/**
 * Kaspa addresses: `<prefix>:<data><checksum>`, five bits per character. A node crashes on an address with a valid
 * checksum and a wrong payload length, so this file accepts only what is safe to send: a known prefix, a known version
 * with exactly its length, no stray bits, and a valid checksum.
 */
import {
  addToChecksum,
  type Checksum,
  checksumHolds,
  finishChecksum,
  startChecksum,
} from './address-checksum.ts'
import {
  ADDRESS_PREFIXES,
  type AddressPrefix,
  isAddressPrefix,
  type Network,
  networkInfo,
} from './network.ts'

/** 0: x-only public key (Schnorr). 1: compressed public key (ECDSA). 8: script hash. */
export type AddressVersion = 0 | 1 | 8

const ADDRESS_PAYLOAD_BYTES: Record<AddressVersion, number> = { 0: 32, 1: 33, 8: 32 }

export interface Address {
  readonly prefix: AddressPrefix
  readonly version: AddressVersion
  readonly payload: Uint8Array
}

type AddressFault = 'prefix' | 'characters' | 'checksum' | 'version' | 'length'

export type DecodedAddress =
  | { readonly ok: true; readonly address: Address }
  | { readonly ok: false; readonly reason: AddressFault; readonly message: string }

const CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const CHECKSUM_CHARACTERS = 8
/** More than any version needs; longer text is refused before it is decoded. */
const MAX_DATA_CHARACTERS = 80

const VALUES = new Int8Array(128).fill(-1)
for (let value = 0; value < 32; value++) VALUES[CHARSET.charCodeAt(value)] = value

const STARTS = Object.fromEntries(
  ADDRESS_PREFIXES.map((prefix) => [prefix, startChecksum(prefix)]),
) as Record<AddressPrefix, Checksum>

export function decodeAddress(text: string): DecodedAddress {
  const colon = text.indexOf(':')
  if (colon < 0) return refuse('prefix', 'an address starts with its network prefix, as in "kaspa:"')
  const prefix = text.slice(0, Math.min(colon, 16))
  if (!isAddressPrefix(prefix))
    return refuse('prefix', `the prefix is none of ${ADDRESS_PREFIXES.join(', ')}`)

  const length = text.length - colon - 1
  if (length > MAX_DATA_CHARACTERS)
    return refuse('length', `${length} characters after the prefix are too many`)
  if (length < CHECKSUM_CHARACTERS + 1)
    return refuse('length', `${length} characters after the prefix are too few`)

  const checksum = { ...STARTS[prefix] }
  const dataLength = length - CHECKSUM_CHARACTERS
  const bytes = new Uint8Array((dataLength * 5) >>> 3)
  let pending = 0
  let pendingBits = 0
  let written = 0
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(colon + 1 + i)
    const value = code < 128 ? (VALUES[code] ?? -1) : -1
    if (value < 0) return refuse('characters', `character ${colon + 2 + i} cannot occur in an address`)
    addToChecksum(checksum, value)
    if (i >= dataLength) continue
    pending = (pending << 5) | value
    pendingBits += 5
    if (pendingBits < 8) continue
    pendingBits -= 8
    bytes[written++] = pending >>> pendingBits
    pending &= (1 << pendingBits) - 1
  }
  if (!checksumHolds(checksum))
    return refuse('checksum', 'the checksum does not match: the address is mistyped')

  const version = bytes[0]
  if (version !== 0 && version !== 1 && version !== 8)
    return refuse('version', 'the address version is unknown')
  const payload = bytes.subarray(1)
  if (payload.length !== ADDRESS_PAYLOAD_BYTES[version] || pendingBits > 4) {
    return refuse('length', `version ${version} carries ${ADDRESS_PAYLOAD_BYTES[version]} bytes`)
  }
  // The node ignores these bits; accepting them would give one address several spellings.
  if (pending !== 0) return refuse('length', 'the bits after the payload are not zero')
  return { ok: true, address: { prefix, version, payload } }
}

/** Throws unless the text is an address of the network. */
export function assertAddress(text: string, network: Network): void {
  const decoded = decodeAddress(text)
  if (!decoded.ok) throw new RangeError(`not an address: ${decoded.message}`)
  const { addressPrefix } = networkInfo(network)
  if (decoded.address.prefix !== addressPrefix) throw new RangeError('an address of another network')
}

/** The text of an address. Throws if the payload length does not fit the version, which is a bug in the caller. */
export function encodeAddress(address: Address): string {
  const { prefix, version, payload } = address
  if (payload.length !== ADDRESS_PAYLOAD_BYTES[version]) {
    throw new RangeError(`address version ${version} carries ${ADDRESS_PAYLOAD_BYTES[version]} bytes`)
  }
  const checksum = { ...STARTS[prefix] }
  let text = `${prefix}:`
  let pending: number = version
  let pendingBits = 8
  for (let next = 0; ; ) {
    while (pendingBits >= 5) {
      pendingBits -= 5
      const value = pending >>> pendingBits
      addToChecksum(checksum, value)
      text += CHARSET[value]
      pending &= (1 << pendingBits) - 1
    }
    const byte = payload[next++]
    if (byte === undefined) break
    pending = (pending << 8) | byte
    pendingBits += 8
  }
  if (pendingBits > 0) {
    const value = pending << (5 - pendingBits)
    addToChecksum(checksum, value)
    text += CHARSET[value]
  }
  for (const value of finishChecksum(checksum)) text += CHARSET[value]
  return text
}

function refuse(reason: AddressFault, message: string): DecodedAddress {
  return { ok: false, reason, message }
}
