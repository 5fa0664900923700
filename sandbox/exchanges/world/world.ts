/** The world of the sandbox: all markets of all venues for one seed and one trade rate. */
import { type AssetSymbol, SYMBOLS } from '../../../src/core/symbol.ts'
import { type Book, createBook } from './book.ts'
import { type Candles, createCandles } from './candles.ts'
import { createDerivatives, type Derivatives } from './derivatives.ts'
import { withEmptyFills } from './empty-fills.ts'
import { EXCHANGE_VENUES, type ExchangeVenue, type Market, marketOf } from './markets.ts'
import { withQuietMinutes } from './quiet-minutes.ts'
import { createTape, type Tape } from './tape.ts'

export interface MarketWorld {
  readonly market: Market
  readonly tape: Tape
  readonly candles: Candles
  readonly book: Book
  readonly derivatives: Derivatives
}

export type World = ReturnType<typeof createWorld>

interface WorldOptions {
  readonly seed: number
  readonly tradesPerSecond: number
  /** For spot and futures: a fill of size 0 after this many trades. */
  readonly emptyFillEvery?: number | undefined
  /** So many minutes of every ten have no trade; none if omitted. */
  readonly quietMinutes?: number | undefined
}

export function createWorld(options: WorldOptions) {
  const { seed, tradesPerSecond } = options
  const venues = new Map<ExchangeVenue, readonly MarketWorld[]>(
    EXCHANGE_VENUES.map((venue) => [
      venue,
      SYMBOLS.map((symbol) => createMarketWorld(options, marketOf(venue, symbol))),
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

function createMarketWorld(
  { seed, tradesPerSecond, emptyFillEvery, quietMinutes }: WorldOptions,
  market: Market,
): MarketWorld {
  const busy = createTape({ seed, market, tradesPerSecond })
  const trades = quietMinutes === undefined ? busy : withQuietMinutes(busy, seed, quietMinutes)
  const tape =
    emptyFillEvery === undefined || market.venue === 'perp' ? trades : withEmptyFills(trades, emptyFillEvery)
  return {
    market,
    tape,
    candles: createCandles(tape),
    book: createBook(seed, tape),
    derivatives: createDerivatives(seed, tape),
  }
}
