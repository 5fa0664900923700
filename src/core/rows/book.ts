/**
 * Order books of a snapshot. The two books of a prediction market (Up and Down, or Yes and No) are kept as
 * four sides; a level is its final JSON text `[price,size]`, so that composing an answer only joins text.
 *
 *   storage form:  bids|asks|bids|asks     levels of a side joined by ';', best first
 */
import { type Numeric, positiveText } from './json-text.ts'
import { RowError } from './row-error.ts'

export interface Book {
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
  bidSize: number
  askSize: number
}

type NumberText = (field: string, value: Numeric) => string

export function encodeBook(
  name: string,
  book: Book,
  priceText: NumberText,
  sizeText: NumberText = positiveText,
): { sides: BookSides; top: BookTop } {
  const bids = encodeSide(`${name}.bids`, book.bids, -1, priceText, sizeText)
  const asks = encodeSide(`${name}.asks`, book.asks, 1, priceText, sizeText)
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
  levels: Book['bids'],
  direction: 1 | -1,
  priceText: NumberText,
  sizeText: NumberText,
): { levels: string[]; best: string | null; size: number } {
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
    total += Number(sizeJson)
    encoded.push(`[${priceJson},${sizeJson}]`)
  }
  return { levels: encoded, best, size: total }
}

export function bookText(sides: BookSides, depth = Number.POSITIVE_INFINITY): string {
  return `{"bids":[${top(sides.bids, depth).join()}],"asks":[${top(sides.asks, depth).join()}]}`
}

/**
 * The difference of two books as sets of levels: a level whose size changed is removed with its old size and
 * added with its new one. Removing and then adding turns `before` into `after`.
 */
export function diffText(before: BookSides, after: BookSides, depth = Number.POSITIVE_INFINITY): string {
  const bids = [top(before.bids, depth), top(after.bids, depth)] as const
  const asks = [top(before.asks, depth), top(after.asks, depth)] as const
  return `{"bids_added":[${without(bids[1], bids[0])}],"bids_removed":[${without(bids[0], bids[1])}],"asks_added":[${without(asks[1], asks[0])}],"asks_removed":[${without(asks[0], asks[1])}]}`
}

function top(levels: Levels, depth: number): Levels {
  return levels.length <= depth ? levels : levels.slice(0, depth)
}

function without(levels: Levels, others: Levels): string {
  if (levels === others) return ''
  const known = new Set(others)
  return levels.filter((level) => !known.has(level)).join()
}

export function packBooks(first: BookSides, second: BookSides): string {
  return [first.bids, first.asks, second.bids, second.asks].map((levels) => levels.join(';')).join('|')
}

export function unpackBooks(packed: string): Levels[] {
  return packed.split('|').map((side) => (side === '' ? [] : side.split(';')))
}
