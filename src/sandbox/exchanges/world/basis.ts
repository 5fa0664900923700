/** How far a derivative trades from spot: a few hundredths of a percent, wandering over hours. */
import { smooth } from './hash.ts'
import type { Market } from './markets.ts'

const BLOCKS_PER_HOUR = 360

/** The premium of a market over the world price at the start of a block, as a fraction. */
export function premiumAt(seed: number, market: Market, block: number): number {
  if (market.venue === 'spot') return 0
  const slow = smooth(seed, market.stream + 1, block, 8 * BLOCKS_PER_HOUR)
  const fast = smooth(seed, market.stream + 2, block, BLOCKS_PER_HOUR)
  return 0.0003 * slow + 0.00015 * fast
}
