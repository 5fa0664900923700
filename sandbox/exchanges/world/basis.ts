/** How far a derivative trades from spot: a few hundredths of a percent, drifting over hours. */
import { createSmoothReader } from './hash.ts'
import type { Market } from './markets.ts'

const BLOCKS_PER_HOUR = 360

/** Reads the premium of a market over the world price at the start of a block, as a fraction. */
export function createPremiumReader(seed: number, market: Market): (block: number) => number {
  if (market.venue === 'spot') return () => 0
  const slow = createSmoothReader(seed, market.stream + 1, 8 * BLOCKS_PER_HOUR)
  const fast = createSmoothReader(seed, market.stream + 2, BLOCKS_PER_HOUR)
  return (block) => 0.0003 * slow(block) + 0.00015 * fast(block)
}
