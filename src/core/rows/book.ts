/**
 * Validates the order books of a snapshot: sorted, not crossed, positive. Books of a prediction market are whole
 * millionths (micro-book.ts); the book of an exchange is the JSON text of its levels.
 */
import { MICRO, microOf, microText } from '../micro.ts'
import type { MicroBook, MicroSide } from '../micro-book.ts'
import { fractionText, type Numeric, positiveText } from './json-text.ts'
import { RowError } from './row-error.ts'

export interface BookInput {
  /** `[price, size]`, highest price first. */
  bids: readonly (readonly [Numeric, Numeric])[]
  /** `[price, size]`, lowest price first. */
  asks: readonly (readonly [Numeric, Numeric])[]
}

/** Levels as JSON text, best first. */
export type Levels = readonly string[]

export interface BookSides {
  bids: Levels
  asks: Levels
}

/** The fields of a row without books that summarise a book. Null where a side is empty. */
export interface BookTop {
  bid: string | null
  ask: string | null
  /** The total size of the levels that count for the row's imbalance. */
  bidSize: number
  askSize: number
}

/**
 * The maximum number of levels per side: the finest tick of any prediction market is a hundredth of a cent. A book with
 * more levels cannot be real and is refused as a whole.
 */
export const MAX_LEVELS = 10_000

/** The book of an exchange. */
export function encodeBook(name: string, book: BookInput): { sides: BookSides; top: BookTop } {
  const bids = encodeSide(`${name}.bids`, book.bids, -1)
  const asks = encodeSide(`${name}.asks`, book.asks, 1)
  if (bids.best !== null && asks.best !== null && Number(bids.best) > Number(asks.best))
    throw crossed(name, bids.best, asks.best)
  return {
    sides: { bids: bids.levels, asks: asks.levels },
    top: { bid: bids.best, ask: asks.best, bidSize: bids.size, askSize: asks.size },
  }
}

function encodeSide(
  field: string,
  levels: BookInput['bids'],
  direction: 1 | -1,
): { levels: string[]; best: string | null; size: number } {
  checkCount(field, levels.length)
  const encoded: string[] = []
  let best: string | null = null
  let total = 0
  let previous = 0
  for (const [price, size] of levels) {
    const priceJson = positiveText(field, price)
    const sizeJson = positiveText(field, size)
    const value = Number(priceJson)
    if (best === null) best = priceJson
    else if ((value - previous) * direction <= 0) throw unsorted(field, priceJson, `${previous}`)
    previous = value
    total += Number(sizeJson)
    encoded.push(`[${priceJson},${sizeJson}]`)
  }
  return { levels: encoded, best, size: total }
}

/** The book of a prediction market; levels that are not in millionths yet are converted. */
export function checkMicroBook(name: string, book: BookInput | MicroBook): MicroBook {
  const bids = microSide(`${name}.bids`, book.bids)
  const asks = microSide(`${name}.asks`, book.asks)
  checkMicroSide(`${name}.bids`, bids, -1)
  checkMicroSide(`${name}.asks`, asks, 1)
  const [bid, ask] = [bids.prices[0], asks.prices[0]]
  if (bid !== undefined && ask !== undefined && bid > ask) throw crossed(name, microText(bid), microText(ask))
  return { bids, asks }
}

function checkMicroSide(field: string, { prices, sizes }: MicroSide, direction: 1 | -1): void {
  checkCount(field, prices.length)
  if (sizes.length !== prices.length)
    throw new RowError(field, `has ${prices.length} prices and ${sizes.length} sizes`)
  let previous = Number.NEGATIVE_INFINITY
  for (let i = 0; i < prices.length; i++) {
    const price = prices[i] ?? Number.NaN
    const size = sizes[i] ?? Number.NaN
    if (!Number.isInteger(price) || price < 0 || price > MICRO)
      throw new RowError(field, `must lie between 0 and 1, is ${microText(price)}`)
    if (!Number.isInteger(size) || size <= 0 || size >= MAX_MICRO_SIZE)
      throw new RowError(field, `must be above 0 with at most nine whole digits, is ${microText(size)}`)
    if (price * direction <= previous)
      throw unsorted(field, microText(price), microText(previous * direction))
    previous = price * direction
  }
}

/** The top of a book in millionths. The sizes are the sums over the `depth` best levels. */
export function microTop({ bids, asks }: MicroBook, depth: number): BookTop {
  const best = ({ prices: [price] }: MicroSide) => (price === undefined ? null : microText(price))
  return {
    bid: best(bids),
    ask: best(asks),
    bidSize: microSize(bids, depth),
    askSize: microSize(asks, depth),
  }
}

export function microSize({ sizes }: MicroSide, depth: number): number {
  let sum = 0
  const count = Math.min(depth, sizes.length)
  for (let i = 0; i < count; i++) sum += (sizes[i] ?? 0) / MICRO
  return sum
}

/** Nine whole digits. */
const MAX_MICRO_SIZE = 1_000_000_000 * MICRO

function microSide(field: string, levels: BookInput['bids'] | MicroSide): MicroSide {
  if (!isList(levels)) return levels
  checkCount(field, levels.length)
  return {
    prices: levels.map(([price]) => micro(field, fractionText(field, price))),
    sizes: levels.map(([, size]) => micro(field, positiveText(field, size))),
  }
}

const isList = (levels: BookInput['bids'] | MicroSide): levels is BookInput['bids'] => Array.isArray(levels)

/** The venues of prediction markets publish nothing finer than whole millionths. */
function micro(field: string, text: string): number {
  const value = microOf(text)
  if (value === undefined)
    throw new RowError(field, `has more than six decimals or nine whole digits: ${text}`)
  return value
}

function checkCount(field: string, count: number): void {
  if (count > MAX_LEVELS) throw new RowError(field, `has ${count} levels, ${MAX_LEVELS} are the most`)
}

const crossed = (name: string, bid: string, ask: string) =>
  new RowError(name, `the book is crossed: bid ${bid} above ask ${ask}`)

const unsorted = (field: string, price: string, previous: string) =>
  new RowError(field, `levels must be sorted with the best first, ${price} follows ${previous}`)
