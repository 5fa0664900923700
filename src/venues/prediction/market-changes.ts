/**
 * What a session was told of the markets. To know a market is not to have told it: a question may fail after half of
 * it was answered, others ask too, and a session begins with nothing told.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { MarketObservation } from '../observation.ts'

export interface MarketChanges {
  /** What is known of a symbol's markets and was not told yet; it counts as told. */
  take(symbol: AssetSymbol): MarketObservation[]
}

/** `of` gives the same object for a market until something of it has changed. */
export function createMarketChanges(
  of: (symbol: AssetSymbol) => readonly MarketObservation[],
): MarketChanges {
  const told = new Map<AssetSymbol, ReadonlySet<MarketObservation>>()
  return {
    take(symbol) {
      const known = of(symbol)
      const before = told.get(symbol)
      told.set(symbol, new Set(known))
      return before === undefined ? [...known] : known.filter((each) => !before.has(each))
    },
  }
}
