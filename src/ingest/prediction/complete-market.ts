/**
 * Adds what a venue leaves out of a market, from what was recorded of it. Returns the same object if nothing changes.
 */
import type { MarketInput } from '../../core/rows/market.ts'

/** The prices of the asset at both ends of the window, if the venue does not send them. */
export function withReferences(
  market: MarketInput,
  prices: { start: () => string | null; end: () => string | null },
): MarketInput {
  const start = market.referencePriceStart ?? prices.start()
  const end = market.referencePriceEnd ?? prices.end()
  if (start === (market.referencePriceStart ?? null) && end === (market.referencePriceEnd ?? null))
    return market
  return { ...market, referencePriceStart: start, referencePriceEnd: end }
}

/** A volume that the venue leaves out is the sum of the trades; only for markets whose trades were all received. */
export function withVolume(market: MarketInput, traded: () => string): MarketInput {
  return market.volume != null || market.status === 'open' ? market : { ...market, volume: traded() }
}
