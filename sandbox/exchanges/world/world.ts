/** The world of the sandbox: all markets of all venues for one seed and one trade rate. */
import { type AssetSymbol, SYMBOLS } from '../../../src/core/symbol.ts'
import { type Bars, createBars } from './bars.ts'
import { type Book, createBook } from './book.ts'
import { createDerivatives, type Derivatives } from './derivatives.ts'
import { type Market, marketOf, VENUES, type Venue } from './markets.ts'
import { createTape, type Tape } from './tape.ts'

export interface MarketWorld {
  readonly market: Market
  readonly tape: Tape
  readonly bars: Bars
  readonly book: Book
  readonly derivatives: Derivatives
}

export interface World {
  readonly seed: number
  readonly tradesPerSecond: number
  of(venue: Venue, symbol: AssetSymbol): MarketWorld
  /** By the venue's own, case-sensitive name. */
  named(venue: Venue, name: string): MarketWorld | undefined
  all(venue: Venue): readonly MarketWorld[]
}

export function createWorld(options: { seed: number; tradesPerSecond: number }): World {
  const { seed, tradesPerSecond } = options
  const venues = new Map<Venue, readonly MarketWorld[]>(
    VENUES.map((venue) => [
      venue,
      SYMBOLS.map((symbol) => createMarketWorld(seed, tradesPerSecond, marketOf(venue, symbol))),
    ]),
  )
  const all = (venue: Venue) => venues.get(venue) ?? []
  return {
    seed,
    tradesPerSecond,
    all,
    of(venue, symbol) {
      const found = all(venue).find((entry) => entry.market.symbol === symbol)
      if (found === undefined) throw new RangeError(`no market ${symbol} on ${venue}`)
      return found
    },
    named: (venue, name) => all(venue).find((entry) => entry.market.name === name),
  }
}

function createMarketWorld(seed: number, tradesPerSecond: number, market: Market): MarketWorld {
  const tape = createTape({ seed, market, tradesPerSecond })
  return {
    market,
    tape,
    bars: createBars(tape),
    book: createBook(seed, tape),
    derivatives: createDerivatives(seed, tape),
  }
}
