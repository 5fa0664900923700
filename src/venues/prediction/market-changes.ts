/**
 * Which markets a session has not emitted yet. The catalogue may know more: a request may fail half way, others refresh
 * it too, and a session begins with nothing emitted.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { MarketObservation } from '../observation.ts'

export interface MarketChanges {
  /** What is known of a symbol's markets and was not emitted yet; from now on it counts as emitted. */
  take(symbol: AssetSymbol): MarketObservation[]
}

/** `of` gives the same object for a market until something of it has changed. */
export function createMarketChanges(
  of: (symbol: AssetSymbol) => readonly MarketObservation[],
): MarketChanges {
  const emitted = new Map<AssetSymbol, ReadonlySet<MarketObservation>>()
  return {
    take(symbol) {
      const known = of(symbol)
      const before = emitted.get(symbol)
      emitted.set(symbol, new Set(known))
      return before === undefined ? [...known] : known.filter((each) => !before.has(each))
    },
  }
}
