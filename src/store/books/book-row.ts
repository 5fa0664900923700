/**
 * A row of a prediction market as stored in blocks: the light row as served, and its books in whole millionths. The
 * second book (Down, No) is omitted if it mirrors the first. A trade is a row with empty books.
 */
import { microText } from '../../core/micro.ts'
import { type MicroSide, mirroredSide, NO_SIDE } from '../../core/micro-book.ts'
import { type Levels, microSize } from '../../core/rows/book.ts'
import { imbalanceText } from '../../core/rows/snapshot.ts'

export interface BookRow {
  readonly ts: number
  readonly seq: number
  readonly recordedAt: number
  /** The light row. */
  readonly text: string
  /** Bids and asks of both books, or only of the first if the second mirrors it. */
  readonly sides: readonly MicroSide[]
}

/** All four sides; those of an omitted second book are mirrored from the first. */
export function allSides({ sides }: Pick<BookRow, 'sides'>): MicroSide[] {
  const [bids = NO_SIDE, asks = NO_SIDE, otherBids, otherAsks] = sides
  return [bids, asks, otherBids ?? mirroredSide(asks), otherAsks ?? mirroredSide(bids)]
}

export const levelText = (price: number, size: number) => `[${microText(price)},${microText(size)}]`

export function levelsOf({ prices, sizes }: MicroSide, depth = Number.POSITIVE_INFINITY): Levels {
  const count = Math.min(depth, prices.length)
  const levels = new Array<string>(count)
  for (let i = 0; i < count; i++) levels[i] = levelText(prices[i] ?? 0, sizes[i] ?? 0)
  return levels
}

/** The share of the bids in the size of the best levels, summed in the order of levels like the row's own value. */
export function imbalanceOf({ sides }: Pick<BookRow, 'sides'>, depth = Number.POSITIVE_INFINITY): string {
  const [bids = NO_SIDE, asks = NO_SIDE] = sides
  return imbalanceText(microSize(bids, depth), microSize(asks, depth))
}

export function compareKeys(a: { ts: number; seq: number }, b: { ts: number; seq: number }): number {
  return a.ts - b.ts || a.seq - b.seq
}
