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

/** Matches an address against several ranges; an IPv4-mapped IPv6 address counts as its IPv4 address. */
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

const HEXTETS = 8

/**
 * The group by which attempts are counted: an IPv4 address itself, or the /64 of an IPv6 address, which is the smallest
 * network that a subscriber gets. An IPv4-mapped address, however it is written, counts as IPv4.
 */
export function addressGroup(address: string): string {
  const plain = plainAddress(address.split('%')[0] ?? '')
  if (isIP(plain) !== 6) return plain
  const all = ipv6Groups(plain)
  if (all.slice(0, 5).every((part) => part === 0) && all[5] === 0xffff) {
    const bytes = all.slice(6).flatMap((part) => [part >> 8, part & 255])
    return bytes.join('.')
  }
  return `${all
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}

/** The eight numbers of an IPv6 address, however it is written. */
export function ipv6Groups(address: string): number[] {
  const [left = '', right] = address.split('::')
  const head = hextetsOf(left)
  const tail = hextetsOf(right ?? '')
  const zeros = right === undefined ? [] : Array<number>(HEXTETS - head.length - tail.length).fill(0)
  return [...head, ...zeros, ...tail]
}

function hextetsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number)
    return [(a << 8) | b, (c << 8) | d]
  })
}
