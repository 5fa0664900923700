/**
 * One order book, kept level by level. Both sides are sorted arrays of prices in millionths, best last, so that
 * the top is the end of an array and a change near it moves little.
 */
import { microText } from './micro.ts'

export type BookSide = 'bids' | 'asks'
/** Price and size in millionths. */
export type MicroLevel = readonly [price: number, size: number]
export type TextLevel = readonly [price: string, size: string]

export interface BookLevels {
  /** Highest price first. */
  readonly bids: readonly TextLevel[]
  /** Lowest price first. */
  readonly asks: readonly TextLevel[]
}

export interface OrderBook {
  replace(bids: Iterable<MicroLevel>, asks: Iterable<MicroLevel>): void
  /** Sets the size at a price; 0 deletes the level. */
  set(side: BookSide, price: number, size: number): void
  /** 0 where there is no such level. */
  sizeAt(side: BookSide, price: number): number
  /** Null for an empty side. */
  best(side: BookSide): number | null
  /** The best bid is at or above the best ask. */
  isCrossed(): boolean
  count(side: BookSide): number
  levels(depth?: number): BookLevels
  /** The same orders seen from the other outcome: a bid at p is an ask at 1 − p. */
  mirrored(depth?: number): BookLevels
}

interface Side {
  /** Ascending in the order of worth: the best is last. */
  keys: number[]
  readonly sizes: Map<number, number>
}

export function createOrderBook(): OrderBook {
  // Bids are kept as their price, asks as its negative: then the best of both is the greatest.
  const sides: Record<BookSide, Side> = {
    bids: { keys: [], sizes: new Map() },
    asks: { keys: [], sizes: new Map() },
  }
  const keyOf = (side: BookSide, price: number) => (side === 'bids' ? price : -price)

  function fill(name: BookSide, levels: Iterable<MicroLevel>): void {
    const side = sides[name]
    side.sizes.clear()
    for (const [price, size] of levels) if (size > 0) side.sizes.set(keyOf(name, price), size)
    side.keys = [...side.sizes.keys()].sort((a, b) => a - b)
  }

  function set(name: BookSide, price: number, size: number): void {
    const side = sides[name]
    const key = keyOf(name, price)
    const known = side.sizes.has(key)
    if (size > 0) side.sizes.set(key, size)
    else if (known) side.sizes.delete(key)
    if (size > 0 === known) return
    const index = lowerBound(side.keys, key)
    if (known) side.keys.splice(index, 1)
    else side.keys.splice(index, 0, key)
  }

  function list(name: BookSide, depth: number, priceText: (price: number) => string): TextLevel[] {
    const { keys, sizes } = sides[name]
    const count = Math.min(depth, keys.length)
    const levels: TextLevel[] = new Array(count)
    for (let place = 0; place < count; place++) {
      const key = keys[keys.length - 1 - place] ?? 0
      levels[place] = [priceText(Math.abs(key)), microText(sizes.get(key) ?? 0)]
    }
    return levels
  }

  const mirroredText = (price: number) => microText(1_000_000 - price)
  const best = (name: BookSide) => {
    const key = sides[name].keys.at(-1)
    return key === undefined ? null : Math.abs(key)
  }

  return {
    replace(bids, asks) {
      fill('bids', bids)
      fill('asks', asks)
    },
    set,
    sizeAt: (name, price) => sides[name].sizes.get(keyOf(name, price)) ?? 0,
    best,
    isCrossed() {
      const bid = best('bids')
      const ask = best('asks')
      return bid !== null && ask !== null && bid >= ask
    },
    count: (name) => sides[name].keys.length,
    levels: (depth = Number.POSITIVE_INFINITY) => ({
      bids: list('bids', depth, microText),
      asks: list('asks', depth, microText),
    }),
    mirrored: (depth = Number.POSITIVE_INFINITY) => ({
      bids: list('asks', depth, mirroredText),
      asks: list('bids', depth, mirroredText),
    }),
  }
}

function lowerBound(keys: readonly number[], key: number): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((keys[middle] ?? 0) < key) low = middle + 1
    else high = middle
  }
  return low
}
