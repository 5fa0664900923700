/** The assets that are recorded. */
export const SYMBOLS = ['BTC', 'ETH', 'SOL', 'XRP'] as const
export type AssetSymbol = (typeof SYMBOLS)[number]

export const SYMBOL_NAMES: Record<AssetSymbol, string> = {
  BTC: 'Bitcoin',
  ETH: 'Ethereum',
  SOL: 'Solana',
  XRP: 'XRP',
}

const LETTERS = /^[A-Za-z]+$/

/** Reads a symbol in any case (`btc` is `BTC`). The capitals of some other letters are among these: ſ becomes S. */
export function parseSymbol(text: string): AssetSymbol | undefined {
  if (!LETTERS.test(text)) return undefined
  const upper = text.toUpperCase()
  return SYMBOLS.find((symbol) => symbol === upper)
}
