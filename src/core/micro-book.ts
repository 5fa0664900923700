/**
 * An order book of a prediction market as stored with a row: prices and sizes in whole millionths, best level first.
 * The second book of a market (Down, No) usually mirrors the first, a bid at p being an ask at 1 − p; a mirrored book
 * is left out.
 */
import { complement } from './micro.ts'

export interface MicroSide {
  readonly prices: readonly number[]
  readonly sizes: readonly number[]
}

export interface MicroBook {
  readonly bids: MicroSide
  readonly asks: MicroSide
}

export const NO_SIDE: MicroSide = { prices: [], sizes: [] }

/** A side as seen from the other outcome: bids become asks at 1 − p, in the same order. */
export function mirroredSide({ prices, sizes }: MicroSide): MicroSide {
  return { prices: prices.map(complement), sizes }
}

/** Bids and asks of both books, or only of the first book if the second one mirrors it. */
export function sidesOfBooks(first: MicroBook, second: MicroBook): MicroSide[] {
  return isMirror(first.asks, second.bids) && isMirror(first.bids, second.asks)
    ? [first.bids, first.asks]
    : [first.bids, first.asks, second.bids, second.asks]
}

function isMirror(side: MicroSide, other: MicroSide): boolean {
  const { prices, sizes } = side
  if (prices.length !== other.prices.length) return false
  for (let i = 0; i < prices.length; i++)
    if (complement(prices[i] ?? 0) !== other.prices[i] || sizes[i] !== other.sizes[i]) return false
  return true
}
