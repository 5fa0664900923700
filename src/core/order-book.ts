/**
 * One order book, level by level. A side is two arrays of the same order, prices and sizes in millionths, with the
 * best level last: the top is the end of the arrays, and a change near it moves little.
 */
import { MICRO, microText } from './micro.ts'

export type BookSide = 'bids' | 'asks'
/** Price and size in millionths. */
export type MicroLevel = readonly [price: number, size: number]
export type TextLevel = readonly [price: string, size: string]

/** Best first: bids from the highest price down, asks from the lowest price up. */
export interface MicroLevels {
  readonly bids: readonly MicroLevel[]
  readonly asks: readonly MicroLevel[]
}

/** Best first. */
export interface BookLevels {
  readonly bids: readonly TextLevel[]
  readonly asks: readonly TextLevel[]
}

interface Side {
  /** Ascending, so that the best is last: the price of a bid, the negated price of an ask. */
  keys: number[]
  sizes: number[]
}

const keyOf = (side: BookSide, price: number) => (side === 'bids' ? price : -price)

export class OrderBook {
  private readonly sides: Readonly<Record<BookSide, Side>> = {
    bids: { keys: [], sizes: [] },
    asks: { keys: [], sizes: [] },
  }

  replace(bids: Iterable<MicroLevel>, asks: Iterable<MicroLevel>): void {
    this.fill('bids', bids)
    this.fill('asks', asks)
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

  /** 0 where there is no such level. */
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

  copy(): OrderBook {
    const copy = new OrderBook()
    for (const name of ['bids', 'asks'] as const) {
      copy.sides[name].keys = this.sides[name].keys.slice()
      copy.sides[name].sizes = this.sides[name].sizes.slice()
    }
    return copy
  }

  equals(other: OrderBook): boolean {
    return (['bids', 'asks'] as const).every(
      (name) =>
        isSame(this.sides[name].keys, other.sides[name].keys) &&
        isSame(this.sides[name].sizes, other.sides[name].sizes),
    )
  }

  microLevels(): MicroLevels {
    const levels = (name: BookSide) =>
      this.list(name, Number.POSITIVE_INFINITY, (price, size) => [price, size] as const)
    return { bids: levels('bids'), asks: levels('asks') }
  }

  levels(depth = Number.POSITIVE_INFINITY): BookLevels {
    return { bids: this.list('bids', depth, levelText), asks: this.list('asks', depth, levelText) }
  }

  /** The same orders seen from the other outcome: a bid at p is an ask at 1 − p. */
  mirrored(depth = Number.POSITIVE_INFINITY): BookLevels {
    const mirror = (price: number, size: number) => levelText(MICRO - price, size)
    return { bids: this.list('asks', depth, mirror), asks: this.list('bids', depth, mirror) }
  }

  private fill(name: BookSide, levels: Iterable<MicroLevel>): void {
    const sizes = new Map<number, number>()
    for (const [price, size] of levels) if (size > 0) sizes.set(keyOf(name, price), size)
    const keys = [...sizes.keys()].sort((a, b) => a - b)
    this.sides[name].keys = keys
    this.sides[name].sizes = keys.map((key) => sizes.get(key) ?? 0)
  }

  private list<T>(name: BookSide, depth: number, levelOf: (price: number, size: number) => T): T[] {
    const { keys, sizes } = this.sides[name]
    const count = Math.min(depth, keys.length)
    const levels: T[] = new Array(count)
    for (let place = 0; place < count; place++) {
      const index = keys.length - 1 - place
      levels[place] = levelOf(Math.abs(keys[index] ?? 0), sizes[index] ?? 0)
    }
    return levels
  }
}

function levelText(price: number, size: number): TextLevel {
  return [microText(price), microText(size)]
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index])
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
