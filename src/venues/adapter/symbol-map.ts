/** Maps our symbols to the venue's names and back, exactly as the venue spells them. */
import type { AssetSymbol } from '../../core/symbol.ts'

export type SymbolMap = ReturnType<typeof createSymbolMap>

export function createSymbolMap(names: Readonly<Partial<Record<AssetSymbol, string>>>) {
  const byName = new Map(Object.entries(names).map(([symbol, name]) => [name, symbol as AssetSymbol]))
  return {
    /** Undefined when the venue does not have the symbol. */
    toVenue: (symbol: AssetSymbol): string | undefined =>
      Object.hasOwn(names, symbol) ? names[symbol] : undefined,
    /** Case matters: `btcusdt` is not `BTCUSDT`. */
    fromVenue: (name: string): AssetSymbol | undefined => byName.get(name),
  }
}
