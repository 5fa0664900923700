/** What a venue leaves out of the record of a market, from what was recorded of it. Gives the same object for no change. */
import type { MarketInput } from '../../core/rows/market.ts'

/** The prices of the asset at both ends of the window, where the venue does not tell them. */
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

/** Where the venue leaves the volume out it is what was traded; for markets of which every trade was told. */
export function withVolume(market: MarketInput, traded: () => string): MarketInput {
  return market.volume != null || market.status === 'open' ? market : { ...market, volume: traded() }
}
