/** Our symbols and the venue's names, both ways, exactly as the venue spells them. */
import type { AssetSymbol } from '../../core/symbol.ts'

export interface SymbolMap {
  /** Undefined when the venue does not have it. */
  toVenue(symbol: AssetSymbol): string | undefined
  /** Case matters: `btcusdt` is not `BTCUSDT`. */
  fromVenue(name: string): AssetSymbol | undefined
}

export function createSymbolMap(names: Readonly<Partial<Record<AssetSymbol, string>>>): SymbolMap {
  const byName = new Map(Object.entries(names).map(([symbol, name]) => [name, symbol as AssetSymbol]))
  return {
    toVenue: (symbol) => (Object.hasOwn(names, symbol) ? names[symbol] : undefined),
    fromVenue: (name) => byName.get(name),
  }
}
