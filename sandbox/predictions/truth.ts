/** What really happened, for tests and operators that compare a store with the sandbox. Faults never change it. */
import { type AssetSymbol, parseSymbol, SYMBOLS } from '../../src/core/symbol.ts'
import { dollars } from './kalshi/text.ts'
import { openInterestOf, slotAt, tradeIdOf, volumeUntil } from './kalshi/view.ts'
import { transactionOf } from './polymarket/data.ts'
import { seenFrom } from './polymarket/leg-book.ts'
import type { Life } from './world/life.ts'
import { TENORS } from './world/up-down.ts'
import type { PredictionWorld } from './world/venue-world.ts'

export interface TrueMarket {
  venue: 'polymarket' | 'kalshi'
  /** Slug, or ticker. */
  name: string
  symbol: AssetSymbol
  kind: string
  startMs: number
  endMs: number
  resolvedMs: number
  winner: 'Up' | 'Down' | 'yes' | 'no'
  conditionId?: string
  tokens?: readonly [string, string]
  /** The two prices that decided it (Up/Down), or strike and settlement value. */
  reference: number | null
  final: number
}

export interface TruePrint {
  timeMs: number
  /** The token of the print, or the ticker. */
  instrument: string
  price: string
  size: string
  side: 'buy' | 'sell'
  /** Transaction hash or trade id. */
  id: string
}

export interface TrueBook {
  slotMs: number
  /** Of Up or yes; best first. The other leg is the mirror: bids at 1 − ask. */
  bids: [price: string, size: string][]
  asks: [price: string, size: string][]
}

export interface TrueRound {
  id: string
  answer: string
  startedAtS: number
  updatedAtS: number
}

export interface Truth {
  /** Markets whose window ends in from ≤ end < to. */
  markets(venue: 'polymarket' | 'kalshi', fromMs: number, toMs: number): TrueMarket[]
  /** By slug, condition id, token or ticker; from ≤ time < to. */
  prints(name: string, fromMs: number, toMs: number): TruePrint[] | undefined
  book(name: string, atMs: number): TrueBook | undefined
  /** Of a strike market, in contracts. */
  openInterest(name: string, atMs: number): number | undefined
  rounds(symbol: AssetSymbol, fromMs: number, toMs: number): TrueRound[]
  spotPrice(symbol: AssetSymbol, atMs: number): number
}

const LEVELS = 1_001

export function createTruth(world: PredictionWorld): Truth {
  const findUpDown = (name: string) =>
    world.upDowns.bySlug(name) ?? world.upDowns.byCondition(name) ?? world.upDowns.byToken(name)?.market
  const lifeNamed = (name: string): Life | undefined => {
    const upDown = findUpDown(name)
    const strike = upDown === undefined ? world.strikes.market(name) : undefined
    return upDown !== undefined
      ? world.lifeOf(upDown)
      : strike !== undefined
        ? world.lifeOfStrike(strike)
        : undefined
  }
  return {
    markets(venue, fromMs, toMs) {
      if (venue === 'polymarket')
        return SYMBOLS.flatMap((symbol) =>
          TENORS.flatMap((tenor) => world.upDowns.between(symbol, tenor, fromMs - 26 * 3_600_000, toMs)),
        )
          .filter((market) => market.endMs >= fromMs && market.endMs < toMs)
          .map((market) => {
            const { start, end } = world.references(market)
            return {
              venue,
              name: market.slug,
              symbol: market.symbol,
              kind: market.tenor,
              startMs: market.startMs,
              endMs: market.endMs,
              resolvedMs: market.resolvedMs,
              winner: end >= start ? 'Up' : 'Down',
              conditionId: market.conditionId,
              tokens: market.tokens,
              reference: start,
              final: end,
            }
          })
      return world.strikes.series
        .flatMap((series) => world.strikes.between(series, fromMs - 1, toMs - 1))
        .flatMap((event) => event.markets)
        .map((market) => ({
          venue,
          name: market.ticker,
          symbol: market.event.series.symbol,
          kind: market.event.series.kind,
          startMs: market.event.openMs,
          endMs: market.event.closeMs,
          resolvedMs: market.event.settledMs,
          winner: world.strikes.isYes(market) ? 'yes' : 'no',
          reference: market.floor ?? market.cap ?? null,
          final: world.strikes.settlement(market.event),
        }))
    },
    prints(name, fromMs, toMs) {
      const upDown = findUpDown(name)
      const strike = upDown === undefined ? world.strikes.market(name) : undefined
      return lifeNamed(name)
        ?.prints.filter((print) => print.timeMs >= fromMs && print.timeMs < toMs)
        .map((print) => {
          const size = String(print.size / 100)
          if (upDown === undefined && strike !== undefined)
            return {
              timeMs: print.timeMs,
              instrument: strike.ticker,
              price: dollars(print.price),
              size,
              side: print.isSell ? 'sell' : 'buy',
              id: tradeIdOf(strike, print),
            }
          const { leg, price, side } = seenFrom(print)
          return {
            timeMs: print.timeMs,
            instrument: upDown?.tokens[leg] ?? '',
            price: String(price / 1_000),
            size,
            side: side === 'BUY' ? 'buy' : 'sell',
            id: upDown === undefined ? '' : transactionOf(upDown, print),
          }
        })
    },
    book(name, atMs) {
      const life = lifeNamed(name)
      if (life === undefined) return undefined
      const slot = Math.min(life.slotAt(atMs), life.lastSlot)
      const [bids, asks] = [new Int32Array(LEVELS), new Int32Array(LEVELS)]
      life.fill(slot, bids, asks)
      const level = (price: number, size: number): [string, string] => [
        String(price / 1_000),
        String(size / 100),
      ]
      const book: TrueBook = { slotMs: life.timeOf(slot), bids: [], asks: [] }
      for (let price = 1; price < 1_000; price++) {
        if (asks[price] !== 0) book.asks.push(level(price, asks[price] as number))
        if (bids[1_000 - price] !== 0) book.bids.push(level(1_000 - price, bids[1_000 - price] as number))
      }
      return book
    },
    openInterest(name, atMs) {
      const life = world.strikes.market(name) === undefined ? undefined : lifeNamed(name)
      return life === undefined ? undefined : openInterestOf(volumeUntil(life, slotAt(life, atMs))) / 100
    },
    rounds: (symbol, fromMs, toMs) =>
      world.rounds.between(symbol, fromMs, toMs).map((round) => ({
        id: String(round.id),
        answer: String(round.answer),
        startedAtS: round.startedAtS,
        updatedAtS: round.updatedAtS,
      })),
    spotPrice: (symbol, atMs) => world.price.price(symbol, atMs),
  }
}

/** A `/truth/…` request of the control port; undefined for what it does not know. Throws on bad parameters. */
export function askTruth(truth: Truth, what: string, query: URLSearchParams): unknown {
  const time = (name: string): number => {
    const value = Number(query.get(name) ?? Number.NaN)
    if (!Number.isSafeInteger(value)) throw new RangeError(`${name} must be epoch milliseconds`)
    return value
  }
  const symbol = (): AssetSymbol => {
    const value = parseSymbol(query.get('symbol') ?? '')
    if (value === undefined) throw new RangeError('symbol is missing or unknown')
    return value
  }
  const name = query.get('market') ?? ''
  switch (what) {
    case 'markets': {
      const venue = query.get('venue')
      if (venue !== 'polymarket' && venue !== 'kalshi')
        throw new RangeError('venue must be polymarket or kalshi')
      return truth.markets(venue, time('from'), time('to'))
    }
    case 'prints':
      return truth.prints(name, time('from'), time('to'))
    case 'book':
      return truth.book(name, time('at'))
    case 'rounds':
      return truth.rounds(symbol(), time('from'), time('to'))
    case 'price':
      return truth.spotPrice(symbol(), time('at'))
    default:
      return undefined
  }
}
