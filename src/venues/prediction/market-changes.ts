/**
 * Tracks which markets a session has not emitted yet. The catalogue may know more, because a request may fail halfway,
 * other callers refresh it too, and a session begins with nothing emitted.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { MarketObservation } from '../observation.ts'

interface Known {
  /** The same object until something about the market changes. */
  readonly observation: MarketObservation
}

/** `of` must return the same array until a market of the symbol changes. */
export function createMarketChanges(of: (symbol: AssetSymbol) => readonly Known[]) {
  const emitted = new Map<
    AssetSymbol,
    { list: readonly Known[]; observations: ReadonlySet<MarketObservation> }
  >()
  return {
    /** Returns what is known of a symbol's markets and was not emitted yet; from now on it counts as emitted. */
    take(symbol: AssetSymbol): MarketObservation[] {
      const list = of(symbol)
      const before = emitted.get(symbol)
      if (before?.list === list) return []
      const known = list.map(({ observation }) => observation)
      emitted.set(symbol, { list, observations: new Set(known) })
      return before === undefined ? known : known.filter((each) => !before.observations.has(each))
    },
  }
}
