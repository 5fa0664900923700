import { decodeAddress } from '../../../core/chain/address.ts'
import { type Network, networkInfo } from '../../../core/chain/network.ts'
import { faultsError } from '../../../core/errors.ts'
import { Refusal, readBy } from '../../contract/params.ts'

export const EXAMPLE_ADDRESS = 'kaspa:qr0lr4ml9fn3chekrqmjdkergxl93l4wrk3dankcgvjq776s9wn9jkdskewva'
export const EXAMPLE_TX = '9e52e1d8bb9e1ee5cbe1d1d2cd2a1e4ae6e2f6a8e2ab0f8b2c7d1d6a4c3b2a10'

/** Prefix, checksum, version and length are checked; `reason` says which of them is wrong. */
export function addressParam() {
  return readBy<string>('A Kaspa address, with its prefix.', {
    schema: { type: 'string', pattern: '^kaspa(test|sim|dev)?:[a-z0-9]+$' },
    example: EXAMPLE_ADDRESS,
    read: (text) => {
      const decoded = decodeAddress(text)
      if (decoded.ok) return text
      return new Refusal(`is not an address: ${decoded.message}`, undefined, decoded.reason)
    },
  })
}

export function txIdParam() {
  return readBy<string>('Transaction id.', {
    schema: { type: 'string', pattern: '^[0-9a-fA-F]{64}$' },
    example: EXAMPLE_TX,
    read: (text) =>
      /^[0-9a-fA-F]{64}$/.test(text)
        ? text.toLowerCase()
        : new Refusal('must be 64 hex digits', undefined, 'format'),
  })
}

/** A well-formed address of another network is a mistake too: it has no history here. */
export function requireNetwork(address: string, network: Network): void {
  const { addressPrefix } = networkInfo(network)
  if (address.startsWith(`${addressPrefix}:`)) return
  const message = `address belongs to another network: the nodes serve ${network}, whose addresses begin with ${addressPrefix}:.`
  throw faultsError([{ param: 'address', error: 'invalid_param', message, reason: 'network' }])
}
