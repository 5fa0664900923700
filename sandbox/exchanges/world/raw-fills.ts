/** The single fills behind an aggregate trade. */
import type { Trade } from './trade.ts'

export interface Fill {
  readonly id: number
  readonly lots: number
}

/** Sizes add up to the trade; the first fill takes what does not divide. */
export function fillsOf(trade: Trade): Fill[] {
  const count = trade.lastFill - trade.firstFill + 1
  const share = Math.floor(trade.lots / count)
  return Array.from({ length: count }, (_, i) => ({
    id: trade.firstFill + i,
    lots: i === 0 ? trade.lots - share * (count - 1) : share,
  }))
}
