/**
 * A row of a prediction market as blocks store it: the light row as served, and its books as
 * whole millionths. The second book (Down, No) is left out where it mirrors the first.
 * A trade is a row whose books are empty.
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
  /** Bids and asks of both books; only those of the first where the second is its mirror. */
  readonly sides: readonly MicroSide[]
}

/** All four sides. */
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

/** The share of the bids in the size of the best levels. Summed in the order of levels, as the row's own sum was. */
export function imbalanceOf({ sides }: Pick<BookRow, 'sides'>, depth = Number.POSITIVE_INFINITY): string {
  const [bids = NO_SIDE, asks = NO_SIDE] = sides
  return imbalanceText(microSize(bids, depth), microSize(asks, depth))
}

export function compareKeys(a: { ts: number; seq: number }, b: { ts: number; seq: number }): number {
  return a.ts - b.ts || a.seq - b.seq
}
