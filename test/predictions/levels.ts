/** Levels of order books as text, and as the millionths that venues send. */
import { microOf, microText } from '../../src/core/micro.ts'
import { type MicroBook, type MicroSide, mirroredSide } from '../../src/core/micro-book.ts'
import type { MicroLevel } from '../../src/core/order-book.ts'

export type TextLevel = readonly [price: string, size: string]
/** Best first. */
export interface TextBook {
  readonly bids: readonly TextLevel[]
  readonly asks: readonly TextLevel[]
}

export function microLevels(levels: readonly TextLevel[]): MicroLevel[] {
  return levels.map(([price, size]) => [microOf(price) ?? Number.NaN, microOf(size) ?? Number.NaN])
}

export function textLevels(levels: readonly MicroLevel[] | undefined): TextLevel[] | undefined {
  return levels?.map(([price, size]) => [microText(price), microText(size)])
}

export function textBook({ bids, asks }: MicroBook): TextBook {
  const levels = ({ prices, sizes }: MicroSide): TextLevel[] =>
    prices.map((price, index) => [microText(price), microText(sizes[index] ?? 0)])
  return { bids: levels(bids), asks: levels(asks) }
}

/** The same orders seen from the other outcome. */
export function mirroredBook({ bids, asks }: MicroBook): MicroBook {
  return { bids: mirroredSide(asks), asks: mirroredSide(bids) }
}

/** Levels removed and then added, as a served row lists them. */
export type ServedDiffs = Record<
  'bids_added' | 'bids_removed' | 'asks_added' | 'asks_removed',
  readonly TextLevel[]
>

export function applyDiffs(before: TextBook, diffs: ServedDiffs): TextBook {
  const turn = (levels: readonly TextLevel[], removed: readonly TextLevel[], added: readonly TextLevel[]) => [
    ...without(levels, removed),
    ...added,
  ]
  return {
    bids: turn(before.bids, diffs.bids_removed, diffs.bids_added).sort((a, b) => Number(b[0]) - Number(a[0])),
    asks: turn(before.asks, diffs.asks_removed, diffs.asks_added).sort((a, b) => Number(a[0]) - Number(b[0])),
  }
}

function without(levels: readonly TextLevel[], others: readonly TextLevel[]): TextLevel[] {
  const known = new Map(others.map(([price, size]) => [price, size]))
  return levels.filter(([price, size]) => known.get(price) !== size)
}
