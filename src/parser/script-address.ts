/** Converts between script public keys (in hex form) and addresses. */
import { type Address, encodeAddress } from '../core/chain/address.ts'
import { bytesOfHex, hexOfBytes } from '../core/chain/hex.ts'
import { type Network, networkInfo } from '../core/chain/network.ts'
import { scriptHash } from './keyed-hash.ts'
import { classifyScript } from './script-class.ts'

/** The address that a script pays to, or null for a script without one. */
export function addressOfScript(scriptPublicKey: string, network: Network): string | null {
  const prefix = networkInfo(network).addressPrefix
  switch (classifyScript(scriptPublicKey)) {
    case 'pubkey':
      return encodeAddress({ prefix, version: 0, payload: bytesOfHex(scriptPublicKey.slice(6, -2)) })
    case 'pubkeyecdsa':
      return encodeAddress({ prefix, version: 1, payload: bytesOfHex(scriptPublicKey.slice(6, -2)) })
    case 'scripthash':
      return encodeAddress({ prefix, version: 8, payload: bytesOfHex(scriptPublicKey.slice(8, -2)) })
    default:
      return null
  }
}

/** The script that pays to an address. */
export function scriptOfAddress(address: Address): string {
  const payload = hexOfBytes(address.payload)
  switch (address.version) {
    case 0:
      return `000020${payload}ac`
    case 1:
      return `000021${payload}ab`
    case 8:
      return `0000aa20${payload}87`
  }
}

/** The script-hash address of a redeem script, which stays hidden until the output is spent. */
export function addressOfRedeemScript(redeemScript: Uint8Array, network: Network): string {
  const prefix = networkInfo(network).addressPrefix
  return encodeAddress({ prefix, version: 8, payload: scriptHash(redeemScript) })
}
