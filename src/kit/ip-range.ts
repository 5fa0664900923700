import { BlockList, isIP } from 'node:net'

/** `10.0.0.0/8`, `2001:db8::/32` or a single address. */
export interface Cidr {
  text: string
  address: string
  prefix: number
  family: 'ipv4' | 'ipv6'
}

export function parseCidr(text: string): Cidr | undefined {
  const [address = '', prefixText, ...rest] = text.trim().split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return undefined
  const widest = version === 4 ? 32 : 128
  const prefix = prefixText === undefined ? widest : /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : -1
  if (prefix < 0 || prefix > widest) return undefined
  return { text: text.trim(), address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' }
}

/** A matcher over several ranges; an IPv4-mapped IPv6 address counts as its IPv4 address. */
export function addressMatcher(ranges: readonly Cidr[]): (address: string) => boolean {
  const list = new BlockList()
  for (const range of ranges) list.addSubnet(range.address, range.prefix, range.family)
  return (address) => {
    const plain = plainAddress(address)
    const version = isIP(plain)
    return version !== 0 && list.check(plain, version === 4 ? 'ipv4' : 'ipv6')
  }
}

export function plainAddress(address: string): string {
  if (!address.startsWith(':')) return address
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address) ? address.slice(7) : address
}
