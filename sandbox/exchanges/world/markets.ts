/** What is traded where: ticks, lots and typical sizes of each market of the sandbox. */
import type { AssetSymbol } from '../../../src/core/symbol.ts'

export const EXCHANGE_VENUES = ['spot', 'futures', 'perp'] as const
export type ExchangeVenue = (typeof EXCHANGE_VENUES)[number]

export interface Market {
  readonly venue: ExchangeVenue
  readonly symbol: AssetSymbol
  /** The venue's own name: BTCUSDT, or BTC on the perpetual venue. */
  readonly name: string
  /** Decimals of the price tick and of the lot: prices and sizes are integers in these units. */
  readonly priceDecimals: number
  readonly sizeDecimals: number
  /** Decimals that the venue writes; never fewer than those above. */
  readonly shownPrice: number
  readonly shownSize: number
  readonly shownQuote: number
  /** Mean trade size in lots, before the block's multiplier. */
  readonly meanLots: number
  /** Distance between resting orders, in ticks. */
  readonly bookStep: number
  /** Separates this market's random streams from all others. */
  readonly stream: number
}

type Row = [
  priceDecimals: number,
  sizeDecimals: number,
  shownPrice: number,
  meanLots: number,
  bookStep: number,
]

const ROWS: Record<ExchangeVenue, Record<AssetSymbol, Row>> = {
  spot: {
    BTC: [2, 5, 8, 600, 53],
    ETH: [2, 4, 8, 1_500, 3],
    SOL: [2, 3, 8, 2_500, 1],
    XRP: [4, 1, 8, 1_500, 1],
  },
  futures: {
    BTC: [1, 3, 2, 20, 7],
    ETH: [2, 3, 2, 400, 5],
    SOL: [2, 0, 4, 12, 1],
    XRP: [4, 1, 4, 3_000, 1],
  },
  perp: {
    BTC: [0, 5, 0, 900, 1],
    ETH: [1, 4, 1, 2_000, 1],
    SOL: [2, 2, 2, 500, 1],
    XRP: [4, 0, 4, 400, 1],
  },
}

export function marketOf(venue: ExchangeVenue, symbol: AssetSymbol): Market {
  const [priceDecimals, sizeDecimals, shownPrice, meanLots, bookStep] = ROWS[venue][symbol]
  const shownSize = venue === 'spot' ? 8 : sizeDecimals
  return {
    venue,
    symbol,
    name: venue === 'perp' ? symbol : `${symbol}USDT`,
    priceDecimals,
    sizeDecimals,
    shownPrice,
    shownSize,
    shownQuote: venue === 'spot' ? 8 : shownPrice + shownSize,
    meanLots,
    bookStep,
    stream:
      (EXCHANGE_VENUES.indexOf(venue) + 1) * 100_000 + Object.keys(ROWS[venue]).indexOf(symbol) * 10_000,
  }
}
