import { BlockList, isIP } from 'node:net'
import { ipv6Groups } from '../kit/ip-range.ts'

/**
 * Which addresses a webhook may be sent to. For IPv4, all that are not reserved. For IPv6, only the global unicast
 * block, without reserved parts and without addresses that embed an IPv4 address, because a tunnel would lead to an
 * address that nobody checked.
 */
export type AddressClass = 'public' | 'private' | 'refused'

const PRIVATE = ranges([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
])

/** Refused in every installation, because no legitimate receiver has such an address. */
const REFUSED = ranges([
  '0.0.0.0/8',
  '100.100.100.200/32', // metadata service of a cloud, inside a private range
  '168.63.129.16/32', // metadata service of another cloud, inside a public range
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  'fd00:ec2::254/128', // metadata service of a cloud, inside a private range
  '2001::/23', // protocol assignments, including Teredo and ORCHID
  '2001:db8::/32',
  '2002::/16', // 6to4
  '3fff::/20',
])

const GLOBAL_UNICAST = ranges(['2000::/3'])

export function classifyAddress(address: string): AddressClass {
  const version = isIP(address)
  if (version === 0 || address.includes('%')) return 'refused'
  const family = version === 4 ? 'ipv4' : 'ipv6'
  if (version === 6 && carriesIpv4(address)) return 'refused'
  if (REFUSED.check(address, family)) return 'refused'
  if (PRIVATE.check(address, family)) return 'private'
  if (version === 6 && !GLOBAL_UNICAST.check(address, family)) return 'refused'
  return 'public'
}

/** IPv4-mapped and IPv4-compatible forms, and ISATAP interface ids. The loopback address `::1` is not one of them. */
function carriesIpv4(address: string): boolean {
  const groups = ipv6Groups(address)
  if (groups[5] === 0x5efe && (groups[4] === 0 || groups[4] === 0x0200)) return true
  const leading = groups.findIndex((group) => group !== 0)
  if (leading === -1) return true
  if (leading >= 6) return !(leading === 7 && groups[7] === 1)
  return leading === 5 && groups[5] === 0xffff
}

function ranges(texts: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of texts) {
    const [address = '', prefix] = text.split('/')
    list.addSubnet(address, Number(prefix), isIP(address) === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}
