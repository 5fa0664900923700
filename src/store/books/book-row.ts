/**
 * A row of a prediction market as blocks store it: the light row as served, and its books as
 * whole millionths. The second book (Down, No) is left out where it mirrors the first.
 * A trade is a row whose books are empty.
 */
import { MICRO, microText } from '../../core/micro.ts'
import type { Levels } from '../../core/rows/book.ts'
import { imbalanceText } from '../../core/rows/snapshot.ts'

/** Levels of one side, best first. */
export interface Side {
  readonly prices: readonly number[]
  readonly sizes: readonly number[]
}

export interface BookRow {
  readonly ts: number
  readonly seq: number
  readonly recordedAt: number
  /** The light row. */
  readonly text: string
  /** Bids and asks of both books; only those of the first where the second is its mirror. */
  readonly sides: readonly Side[]
}

/** The storage form of empty books. */
export const NO_BOOKS = '|||'
export const NO_SIDE: Side = { prices: [], sizes: [] }
/** What a number with so many decimals is multiplied by to be whole millionths. */
const SCALES = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1]
const [ZERO, POINT, COMMA, SEMICOLON, PIPE, OPENING, CLOSING] = [48, 46, 44, 59, 124, 91, 93]

/** What the other outcome sees of a side: bids become asks at 1 − p, in the same order. */
export function mirrored({ prices, sizes }: Side): Side {
  return { prices: prices.map((price) => MICRO - price), sizes }
}

/** All four sides. */
export function allSides({ sides }: Pick<BookRow, 'sides'>): Side[] {
  const [bids = NO_SIDE, asks = NO_SIDE, otherBids, otherAsks] = sides
  return [bids, asks, otherBids ?? mirrored(asks), otherAsks ?? mirrored(bids)]
}

/** Reads books as they are sent to the writer: `bids|asks|bids|asks`, levels as JSON joined by `;`. */
export function sidesOf(packed: string): Side[] {
  const sides: { prices: number[]; sizes: number[] }[] = [{ prices: [], sizes: [] }]
  let side = sides[0]
  let value = 0
  /** Decimals read so far; -1 before the point. */
  let decimals = -1
  for (let at = 0; at < packed.length; at++) {
    const code = packed.charCodeAt(at)
    if (code >= ZERO && code <= ZERO + 9) {
      value = value * 10 + code - ZERO
      if (decimals >= 0) decimals++
    } else if (code === POINT) decimals = 0
    else if (code === COMMA || code === CLOSING) {
      const micro = value * (SCALES[Math.max(decimals, 0)] ?? Number.NaN)
      if (!Number.isSafeInteger(micro)) throw new RangeError(`not a book: ${packed.slice(0, at + 1)}`)
      if (code === COMMA) side?.prices.push(micro)
      else side?.sizes.push(micro)
      value = 0
      decimals = -1
    } else if (code === PIPE) {
      side = { prices: [], sizes: [] }
      sides.push(side)
    } else if (code !== OPENING && code !== SEMICOLON) {
      throw new RangeError(`not a book: ${packed.slice(0, at + 1)}`)
    }
  }
  const [bids = NO_SIDE, asks = NO_SIDE, otherBids = NO_SIDE, otherAsks = NO_SIDE] = sides
  const isMirrored = isMirror(asks, otherBids) && isMirror(bids, otherAsks)
  return isMirrored ? [bids, asks] : [bids, asks, otherBids, otherAsks]
}

function isMirror(side: Side, other: Side): boolean {
  const { prices, sizes } = side
  if (prices.length !== other.prices.length) return false
  for (let i = 0; i < prices.length; i++) {
    if ((prices[i] ?? 0) + (other.prices[i] ?? 0) !== MICRO || sizes[i] !== other.sizes[i]) return false
  }
  return true
}

export const levelText = (price: number, size: number) => `[${microText(price)},${microText(size)}]`

export function levelsOf({ prices, sizes }: Side, depth = Number.POSITIVE_INFINITY): Levels {
  const count = Math.min(depth, prices.length)
  const levels = new Array<string>(count)
  for (let i = 0; i < count; i++) levels[i] = levelText(prices[i] ?? 0, sizes[i] ?? 0)
  return levels
}

/** The share of the bids in the size of the best levels. Summed in the order of levels, as the row's own sum was. */
export function imbalanceOf({ sides }: Pick<BookRow, 'sides'>, depth = Number.POSITIVE_INFINITY): string {
  const sizeOf = (side: Side = NO_SIDE) => {
    const count = Math.min(depth, side.sizes.length)
    let sum = 0
    for (let i = 0; i < count; i++) sum += (side.sizes[i] ?? 0) / MICRO
    return sum
  }
  return imbalanceText(sizeOf(sides[0]), sizeOf(sides[1]))
}

export function packedOf(row: Pick<BookRow, 'sides'>): string {
  return allSides(row)
    .map((side) => levelsOf(side).join(';'))
    .join('|')
}

export function compareKeys(a: { ts: number; seq: number }, b: { ts: number; seq: number }): number {
  return a.ts - b.ts || a.seq - b.seq
}
