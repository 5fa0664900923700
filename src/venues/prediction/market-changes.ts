/**
 * Which markets a session has not emitted yet. The catalogue may know more: a request may fail half way, others refresh
 * it too, and a session begins with nothing emitted.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { MarketObservation } from '../observation.ts'

interface Known {
  /** The same object until something of the market has changed. */
  readonly observation: MarketObservation
}

/** `of` gives the same list until a market of the symbol has changed. */
export function createMarketChanges(of: (symbol: AssetSymbol) => readonly Known[]) {
  const emitted = new Map<
    AssetSymbol,
    { list: readonly Known[]; observations: ReadonlySet<MarketObservation> }
  >()
  return {
    /** What is known of a symbol's markets and was not emitted yet; from now on it counts as emitted. */
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
