/** The world of the sandbox: all markets of all venues for one seed and one trade rate. */
import { type AssetSymbol, SYMBOLS } from '../../../src/core/symbol.ts'
import { type Book, createBook } from './book.ts'
import { type Candles, createCandles } from './candles.ts'
import { createDerivatives, type Derivatives } from './derivatives.ts'
import { EXCHANGE_VENUES, type ExchangeVenue, type Market, marketOf } from './markets.ts'
import { createTape, type Tape } from './tape.ts'

export interface MarketWorld {
  readonly market: Market
  readonly tape: Tape
  readonly candles: Candles
  readonly book: Book
  readonly derivatives: Derivatives
}

export type World = ReturnType<typeof createWorld>

export function createWorld(options: { seed: number; tradesPerSecond: number }) {
  const { seed, tradesPerSecond } = options
  const venues = new Map<ExchangeVenue, readonly MarketWorld[]>(
    EXCHANGE_VENUES.map((venue) => [
      venue,
      SYMBOLS.map((symbol) => createMarketWorld(seed, tradesPerSecond, marketOf(venue, symbol))),
    ]),
  )
  const all = (venue: ExchangeVenue) => venues.get(venue) ?? []
  return {
    seed,
    tradesPerSecond,
    all,
    of(venue: ExchangeVenue, symbol: AssetSymbol): MarketWorld {
      const found = all(venue).find((entry) => entry.market.symbol === symbol)
      if (found === undefined) throw new RangeError(`no market ${symbol} on ${venue}`)
      return found
    },
    /** By the venue's own, case-sensitive name. */
    named: (venue: ExchangeVenue, name: string): MarketWorld | undefined =>
      all(venue).find((entry) => entry.market.name === name),
  }
}

function createMarketWorld(seed: number, tradesPerSecond: number, market: Market): MarketWorld {
  const tape = createTape({ seed, market, tradesPerSecond })
  return {
    market,
    tape,
    candles: createCandles(tape),
    book: createBook(seed, tape),
    derivatives: createDerivatives(seed, tape),
  }
}
