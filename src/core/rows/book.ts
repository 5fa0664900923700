/**
 * Order books of a snapshot. The two books of a prediction market (Up and Down, or Yes and No) are kept as
 * four sides; a level is its final JSON text `[price,size]`, so that composing an answer only joins text.
 *
 *   storage form:  bids|asks|bids|asks     levels of a side joined by ';', best first
 */
import { type Numeric, positiveText } from './json-text.ts'
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

/** What a light row tells about a book. Null where a side is empty. */
export interface BookTop {
  bid: string | null
  ask: string | null
  /** Of the levels that count for the row's imbalance. */
  bidSize: number
  askSize: number
}

/**
 * Levels per side at most: the finest tick of any prediction market is a hundredth of a cent. A deeper book is no
 * book, and is refused as a whole.
 */
export const MAX_LEVELS = 10_000

type NumberText = (field: string, value: Numeric) => string

export function encodeBook(
  name: string,
  book: BookInput,
  priceText: NumberText,
  options: { sizeText?: NumberText; imbalanceDepth?: number | undefined } = {},
): { sides: BookSides; top: BookTop } {
  const { sizeText = positiveText, imbalanceDepth = Number.POSITIVE_INFINITY } = options
  const bids = encodeSide(`${name}.bids`, book.bids, { direction: -1, priceText, sizeText, imbalanceDepth })
  const asks = encodeSide(`${name}.asks`, book.asks, { direction: 1, priceText, sizeText, imbalanceDepth })
  if (bids.best !== null && asks.best !== null && Number(bids.best) > Number(asks.best)) {
    throw new RowError(name, `the book is crossed: bid ${bids.best} above ask ${asks.best}`)
  }
  return {
    sides: { bids: bids.levels, asks: asks.levels },
    top: { bid: bids.best, ask: asks.best, bidSize: bids.size, askSize: asks.size },
  }
}

function encodeSide(
  field: string,
  levels: BookInput['bids'],
  how: { direction: 1 | -1; priceText: NumberText; sizeText: NumberText; imbalanceDepth: number },
): { levels: string[]; best: string | null; size: number } {
  const { direction, priceText, sizeText, imbalanceDepth } = how
  if (levels.length > MAX_LEVELS)
    throw new RowError(field, `has ${levels.length} levels, ${MAX_LEVELS} are the most`)
  const encoded: string[] = []
  let best: string | null = null
  let total = 0
  let previous = 0
  for (const [price, size] of levels) {
    const priceJson = priceText(field, price)
    const sizeJson = sizeText(field, size)
    const value = Number(priceJson)
    if (best === null) best = priceJson
    else if ((value - previous) * direction <= 0) {
      throw new RowError(field, `levels must be sorted with the best first, ${priceJson} follows ${previous}`)
    }
    previous = value
    if (encoded.length < imbalanceDepth) total += Number(sizeJson)
    encoded.push(`[${priceJson},${sizeJson}]`)
  }
  return { levels: encoded, best, size: total }
}

export function packBooks(first: BookSides, second: BookSides): string {
  return [first.bids, first.asks, second.bids, second.asks].map((levels) => levels.join(';')).join('|')
}
