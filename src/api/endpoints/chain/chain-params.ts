import { ParamRefusal, readBy } from '../../../contract/params.ts'
import { decodeAddress } from '../../../core/chain/address.ts'
import { type Network, networkInfo } from '../../../core/chain/network.ts'
import { faultsError } from '../../../core/errors.ts'

/** Validates prefix, checksum, version and length; `reason` says which of them is wrong. */
export const addressPathParam = readBy<string>('A Kaspa address, with its prefix.', {
  schema: { type: 'string', pattern: '^kaspa(test|sim|dev)?:[a-z0-9]+$' },
  example: (samples) => samples.address,
  read: (text) => {
    const decoded = decodeAddress(text)
    if (decoded.ok) return text
    return new ParamRefusal(`is not an address: ${decoded.message}`, undefined, decoded.reason)
  },
})

export const txIdParam = readBy<string>('Transaction id.', {
  schema: { type: 'string', pattern: '^[0-9a-fA-F]{64}$' },
  example: (samples) => samples.txId,
  read: (text) =>
    /^[0-9a-fA-F]{64}$/.test(text)
      ? text.toLowerCase()
      : new ParamRefusal('must be 64 hex digits', undefined, 'format'),
})

/** Also refuses a valid address of another network, because it has no history here. */
export function requireNetwork(address: string, network: Network): void {
  const { addressPrefix } = networkInfo(network)
  if (address.startsWith(`${addressPrefix}:`)) return
  const message = `address belongs to another network: the nodes serve ${network}, whose addresses begin with ${addressPrefix}:.`
  throw faultsError([{ param: 'address', error: 'invalid_param', message, reason: 'network' }])
}
