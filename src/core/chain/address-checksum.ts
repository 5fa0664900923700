/**
 * The 40-bit checksum of an address (CashAddr's polynomial). The running value is kept as two halves of 20 bits,
 * because JavaScript's bitwise operators work on 32 bits and bigints are thirty times slower.
 */
export interface Checksum {
  high: number
  low: number
}

const GENERATORS: readonly (readonly [number, number])[] = [
  [0x98f2b, 0xc8e61],
  [0x79b76, 0xd99e2],
  [0xf33e5, 0xfb3c4],
  [0xae2ea, 0xbe2a8],
  [0x1e4f4, 0x3e470],
]

/** The combined generators for each value of the five bits that are shifted out. */
const HIGH = combinations(0)
const LOW = combinations(1)

function combinations(half: 0 | 1): Uint32Array {
  const table = new Uint32Array(32)
  for (let bits = 0; bits < 32; bits++) {
    let value = 0
    for (const [bit, generator] of GENERATORS.entries()) if ((bits >> bit) & 1) value ^= generator[half]
    table[bits] = value
  }
  return table
}

/** The checksum state after the prefix and its separator. */
export function startChecksum(prefix: string): Checksum {
  const checksum = { high: 0, low: 1 }
  for (let i = 0; i < prefix.length; i++) addToChecksum(checksum, prefix.charCodeAt(i) & 0x1f)
  addToChecksum(checksum, 0)
  return checksum
}

export function addToChecksum(checksum: Checksum, fiveBits: number): void {
  const out = checksum.high >>> 15
  const high = ((checksum.high & 0x7fff) << 5) | (checksum.low >>> 15)
  const low = ((checksum.low & 0x7fff) << 5) ^ fiveBits
  checksum.high = high ^ (HIGH[out] ?? 0)
  checksum.low = low ^ (LOW[out] ?? 0)
}

/** Whether the checksum is valid, once all data and the checksum itself have been added. */
export function checksumHolds(checksum: Checksum): boolean {
  return checksum.high === 0 && checksum.low === 1
}

/** The eight five-bit groups to append, once all data has been added. */
export function finishChecksum(checksum: Checksum): number[] {
  for (let i = 0; i < 8; i++) addToChecksum(checksum, 0)
  const { high } = checksum
  const low = checksum.low ^ 1
  return [
    high >>> 15,
    (high >>> 10) & 31,
    (high >>> 5) & 31,
    high & 31,
    low >>> 15,
    (low >>> 10) & 31,
    (low >>> 5) & 31,
    low & 31,
  ]
}
