/**
 * One order book, level by level. A side is two parallel arrays, prices and sizes in millionths, with the best level
 * last: most changes are near the best price, so that little has to be moved.
 */
import type { MicroBook, MicroSide } from './micro-book.ts'

export type BookSide = 'bids' | 'asks'
/** Price and size in millionths. */
export type MicroLevel = readonly [price: number, size: number]

/** Best first: bids in descending, asks in ascending order of price. */
export interface MicroLevels {
  readonly bids: readonly MicroLevel[]
  readonly asks: readonly MicroLevel[]
}

interface Side {
  /** Ascending, so that the best is last: the price of a bid, or the negated price of an ask. */
  keys: number[]
  sizes: number[]
}

const keyOf = (side: BookSide, price: number) => (side === 'bids' ? price : -price)

export class OrderBook {
  private readonly sides: Readonly<Record<BookSide, Side>> = {
    bids: { keys: [], sizes: [] },
    asks: { keys: [], sizes: [] },
  }

  replace(bids: readonly MicroLevel[], asks: readonly MicroLevel[]): void {
    this.fill('bids', bids)
    this.fill('asks', asks)
  }

  /** Makes this book a copy of another one and reuses its arrays. */
  copyFrom(other: OrderBook): void {
    for (const name of ['bids', 'asks'] as const) {
      const own = this.sides[name]
      const { keys, sizes } = other.sides[name]
      own.keys.length = own.sizes.length = keys.length
      for (let i = 0; i < keys.length; i++) {
        own.keys[i] = keys[i] as number
        own.sizes[i] = sizes[i] as number
      }
    }
  }

  isSameAs(other: OrderBook): boolean {
    for (const name of ['bids', 'asks'] as const) {
      const own = this.sides[name]
      const { keys, sizes } = other.sides[name]
      if (own.keys.length !== keys.length) return false
      for (let i = 0; i < keys.length; i++)
        if (own.keys[i] !== keys[i] || own.sizes[i] !== sizes[i]) return false
    }
    return true
  }

  /** Sets the size at a price; 0 deletes the level. */
  set(name: BookSide, price: number, size: number): void {
    const { keys, sizes } = this.sides[name]
    const key = keyOf(name, price)
    const index = lowerBound(keys, key)
    const isKnown = keys[index] === key
    if (isKnown && size > 0) sizes[index] = size
    else if (isKnown) {
      keys.splice(index, 1)
      sizes.splice(index, 1)
    } else if (size > 0) {
      keys.splice(index, 0, key)
      sizes.splice(index, 0, size)
    }
  }

  /** 0 if there is no such level. */
  sizeAt(name: BookSide, price: number): number {
    const { keys, sizes } = this.sides[name]
    const key = keyOf(name, price)
    const index = lowerBound(keys, key)
    return keys[index] === key ? (sizes[index] ?? 0) : 0
  }

  /** Null for an empty side. */
  best(name: BookSide): number | null {
    const key = this.sides[name].keys.at(-1)
    return key === undefined ? null : Math.abs(key)
  }

  /** The best bid is at or above the best ask. */
  isCrossed(): boolean {
    const bid = this.best('bids')
    const ask = this.best('asks')
    return bid !== null && ask !== null && bid >= ask
  }

  count(name: BookSide): number {
    return this.sides[name].keys.length
  }

  equals({ bids, asks }: MicroBook): boolean {
    return this.isSame('bids', bids) && this.isSame('asks', asks)
  }

  /** Whether a book with these levels, in any order, would be the same. */
  hasLevels({ bids, asks }: MicroLevels): boolean {
    if (this.isInOrder('bids', bids) && this.isInOrder('asks', asks)) return true
    const other = new OrderBook()
    other.replace(bids, asks)
    return this.equals(other.microBook())
  }

  microLevels(): MicroLevels {
    const levels = (name: BookSide): MicroLevel[] => {
      const { prices, sizes } = this.microSide(name)
      return prices.map((price, index) => [price, sizes[index] ?? 0])
    }
    return { bids: levels('bids'), asks: levels('asks') }
  }

  /** A copy, best level first. */
  microBook(): MicroBook {
    return { bids: this.microSide('bids'), asks: this.microSide('asks') }
  }

  /** If a price occurs more than once, its last level counts. */
  private fill(name: BookSide, levels: readonly MicroLevel[]): void {
    const side = this.sides[name]
    side.keys = []
    side.sizes = []
    for (const [price, size] of levels) {
      if (size <= 0) continue
      side.keys.push(keyOf(name, price))
      side.sizes.push(size)
    }
    // Venues send books in order, with the best level either last or first.
    if (isAscending(side.keys)) return
    side.keys.reverse()
    side.sizes.reverse()
    if (isAscending(side.keys)) return
    const sizes = new Map<number, number>()
    for (const [price, size] of levels) if (size > 0) sizes.set(keyOf(name, price), size)
    side.keys = [...sizes.keys()].sort((a, b) => a - b)
    side.sizes = side.keys.map((key) => sizes.get(key) ?? 0)
  }

  private microSide(name: BookSide): MicroSide {
    const { keys, sizes } = this.sides[name]
    const prices = keys.toReversed()
    if (name === 'asks') for (let i = 0; i < prices.length; i++) prices[i] = -(prices[i] ?? 0)
    return { prices, sizes: sizes.toReversed() }
  }

  /** Whether these are exactly the levels of a side, with the best one first or last. */
  private isInOrder(name: BookSide, levels: readonly MicroLevel[]): boolean {
    const { keys, sizes } = this.sides[name]
    const { length } = keys
    if (levels.length !== length) return false
    const first = levels[0]
    const isBestFirst = first !== undefined && keyOf(name, first[0]) === keys[length - 1]
    for (let i = 0; i < length; i++) {
      const level = levels[isBestFirst ? length - 1 - i : i]
      if (level === undefined || keyOf(name, level[0]) !== keys[i] || level[1] !== sizes[i]) return false
    }
    return true
  }

  private isSame(name: BookSide, other: MicroSide): boolean {
    const { keys, sizes } = this.sides[name]
    const last = keys.length - 1
    if (other.prices.length !== keys.length) return false
    for (let i = 0; i <= last; i++)
      if (keys[last - i] !== keyOf(name, other.prices[i] ?? 0) || sizes[last - i] !== other.sizes[i])
        return false
    return true
  }
}

function isAscending(keys: readonly number[]): boolean {
  for (let i = 1; i < keys.length; i++) if ((keys[i - 1] ?? 0) >= (keys[i] ?? 0)) return false
  return true
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
