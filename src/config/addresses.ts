/** Settings that are lists of addresses. */
import { redactAddress } from '../kit/redact-address.ts'
import { listOf, url } from './setting.ts'

/** The address of one host of a real venue. */
export interface VenueHost {
  readonly venue: string
  readonly part: string
  readonly url: string
}
/** A password may contain a comma, so the list is split only where an address can begin. */
const BEFORE_ADDRESS = /,(?=\s*(?:[a-z][a-z0-9.-]*=)?(?:https?|wss?):\/\/|\s*$)/
const VENUE_HOST = /^([a-z][a-z0-9-]*)\.([a-z]+)=((?:https?|wss?):\/\/\S+)$/
export const venueHosts = {
  ...listOf(
    'addresses such as kalshi.rest=https://demo-api.kalshi.co',
    (value): VenueHost | undefined => {
      const [, venue, part, address] = VENUE_HOST.exec(value) ?? []
      if (venue === undefined || part === undefined || address === undefined) return undefined
      return url(address) === undefined ? undefined : { venue, part, url: address.replace(/\/+$/, '') }
    },
    BEFORE_ADDRESS,
  ),
  carriesKeys: true as const,
  shown: showHosts,
}
export function showHosts(hosts: readonly VenueHost[]): string {
  return (
    hosts.map(({ venue, part, url: address }) => `${venue}.${part}=${redactAddress(address)}`).join(',') ||
    'off'
  )
}
/** Paths and queries of node addresses can contain keys. */
export const nodeAddresses = {
  ...listOf(
    'addresses such as https://polygon.drpc.org',
    (value) => (/^https?:/.test(value) ? url(value) : undefined),
    BEFORE_ADDRESS,
  ),
  carriesKeys: true as const,
  shown: (addresses: readonly string[]) => addresses.map(redactAddress).join(',') || 'off',
}
const NODE_TIER = /^(?:primary=|backup=)?/
const nodeList = listOf(
  'off, or addresses such as ws://127.0.0.1:18110 or backup=wss://node.example.com',
  (value) => {
    const address = value.replace(NODE_TIER, '')
    return /^wss?:/.test(address) && url(address) !== undefined ? value : undefined
  },
  BEFORE_ADDRESS,
)
export const kaspaNodes = {
  allowed: nodeList.allowed,
  read: (value: string) => (value === 'off' ? [] : nodeList.read(value)),
  carriesKeys: true as const,
  shown: (nodes: readonly string[]) =>
    nodes
      .map((node) => `${NODE_TIER.exec(node)?.[0] ?? ''}${redactAddress(node.replace(NODE_TIER, ''))}`)
      .join(',') || 'off',
}
