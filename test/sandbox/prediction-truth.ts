/** What really happened, for tests that compare a store with the sandbox. Faults never change it. */

import {
  dollars,
  openInterestOf,
  slotAt,
  strikeText,
  titleOf,
  tradeIdOf,
  volumeUntil,
} from '../../sandbox/predictions/kalshi/payloads.ts'
import { transactionOf } from '../../sandbox/predictions/polymarket/data.ts'
import { settle } from '../../sandbox/predictions/polymarket/fills.ts'
import { createdMsOf } from '../../sandbox/predictions/polymarket/gamma-market.ts'
import { seenFrom } from '../../sandbox/predictions/polymarket/leg-book.ts'
import { liquidityOf, slotOf, volumeOf } from '../../sandbox/predictions/polymarket/view.ts'
import { LEVELS, type Life, type MarketTrade } from '../../sandbox/predictions/world/life.ts'
import { TENORS, type UpDown } from '../../sandbox/predictions/world/up-down.ts'
import type { PredictionWorld } from '../../sandbox/predictions/world/venue-world.ts'
import { type AssetSymbol, SYMBOLS } from '../../src/core/symbol.ts'

export interface TrueMarket {
  venue: 'polymarket' | 'kalshi'
  /** Slug, or ticker. */
  name: string
  symbol: AssetSymbol
  kind: string
  startMs: number
  endMs: number
  resolvedMs: number
  /** Null where both outcomes are paid alike. */
  winner: 'Up' | 'Down' | 'yes' | 'no' | null
  conditionId?: string
  tokens?: readonly [string, string]
  /** The two prices that decided it (Up/Down), or strike and settlement value. */
  reference: number | null
  final: number
}

export interface TrueMarketTrade {
  timeMs: number
  /** The token of the trade, or the ticker. */
  instrument: string
  price: string
  size: string
  side: 'buy' | 'sell'
  /** Transaction hash or trade id. */
  id: string
  /** The sizes of its fills; the venue may send each of them instead of the trade. */
  fills?: readonly string[]
}

export interface TrueMarketBook {
  slotMs: number
  /** Of Up or yes; best first. The other leg is the mirror: bids at 1 − ask. */
  bids: [price: string, size: string][]
  asks: [price: string, size: string][]
}

/** A book as sizes in hundredths, by the price in thousandths. */
export interface TrueSizes {
  readonly slotMs: number
  readonly bids: Int32Array
  readonly asks: Int32Array
}

interface TrueRound {
  id: string
  answer: string
  startedAtS: number
  updatedAtS: number
}

/** What the second venue writes about a contract, and its figures. */
interface TrueStrike {
  readonly ticker: string
  readonly eventId: string
  readonly question: string
  readonly createdMs: number
  /** In contracts. */
  volumeAt(atMs: number): number
  wasTradedAt(price: number, untilMs: number): boolean
}

/** What the catalogue of the first venue writes about a window, and its figures. */
export interface TrueUpDown {
  readonly slug: string
  readonly symbol: AssetSymbol
  readonly conditionId: string
  readonly eventId: string
  readonly question: string
  readonly kind: string
  readonly startMs: number
  readonly endMs: number
  readonly createdMs: number
  /** Faults aside. */
  readonly resolvedMs: number
  /** Null where both outcomes are paid alike. */
  readonly winner: 'Up' | 'Down' | null
  readonly tokens: readonly [string, string]
  /** Dollars after each trade, from none on. */
  volumes(): number[]
  volumeAt(atMs: number): number
  /** Dollars in the book after each of its changes until an instant. */
  liquidities(untilMs: number): Set<number>
  /** The price that the window settles on, in that second. */
  referencePrice(atMs: number): number
}

export interface PredictionTruth {
  upDown(name: string): TrueUpDown | undefined
  /** Markets whose window ends in from ≤ end < to. */
  markets(
    venue: 'polymarket' | 'kalshi',
    fromMs: number,
    toMs: number,
    symbols?: readonly AssetSymbol[],
  ): TrueMarket[]
  /** By slug, condition id, token or ticker; from ≤ time < to. */
  trades(name: string, fromMs: number, toMs: number): TrueMarketTrade[] | undefined
  book(name: string, atMs: number): TrueMarketBook | undefined
  /** The same as numbers. The arrays are those of the next call too. */
  sizes(name: string, atMs: number): TrueSizes | undefined
  strike(ticker: string): TrueStrike | undefined
  /** Of a strike market, in contracts. */
  openInterest(name: string, atMs: number): number | undefined
  rounds(symbol: AssetSymbol, fromMs: number, toMs: number): TrueRound[]
  spotPrice(symbol: AssetSymbol, atMs: number): number
}

export function createPredictionTruth(world: PredictionWorld): PredictionTruth {
  /** The judge asks for the same few names many times for every row. */
  const upDowns = new Map<string, UpDown>()
  const described = new Map<string, TrueUpDown>()
  const findUpDown = (name: string): UpDown | undefined => {
    const known = upDowns.get(name)
    if (known !== undefined) return known
    const { bySlug, byCondition, byToken } = world.upDowns
    const found = bySlug(name) ?? byCondition(name) ?? byToken(name)?.market
    if (found !== undefined) upDowns.set(name, found)
    return found
  }
  const lifeNamed = (name: string): Life | undefined => {
    const upDown = findUpDown(name)
    const strike = upDown === undefined ? world.strikes.market(name) : undefined
    return upDown !== undefined
      ? world.lifeOf(upDown)
      : strike !== undefined
        ? world.lifeOfStrike(strike)
        : undefined
  }
  const strikes = new Map<string, TrueStrike>()
  const [bids, asks] = [new Int32Array(LEVELS), new Int32Array(LEVELS)]
  const sizesAt = (name: string, atMs: number): TrueSizes | undefined => {
    const life = lifeNamed(name)
    if (life === undefined) return undefined
    const slot = Math.min(life.slotAt(atMs), life.lastSlot)
    life.fill(slot, bids, asks)
    return { slotMs: life.timeOf(slot), bids, asks }
  }
  const fillsOf = (market: UpDown, trade: MarketTrade) =>
    settle(world, market, trade).fills.map(({ size }) => String(size / 100))
  return {
    upDown(name) {
      const known = described.get(name)
      if (known !== undefined) return known
      const market = findUpDown(name)
      const found = market === undefined ? undefined : describeUpDown(world, market)
      if (found !== undefined) described.set(name, found)
      return found
    },
    markets(venue, fromMs, toMs, symbols = SYMBOLS) {
      if (venue === 'polymarket')
        return symbols
          .flatMap((symbol) =>
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
              winner: market.isSplit ? null : end >= start ? 'Up' : 'Down',
              conditionId: market.conditionId,
              tokens: market.tokens,
              reference: start,
              final: end,
            }
          })
      return world.strikes.series
        .filter(({ symbol }) => symbols.includes(symbol))
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
    trades(name, fromMs, toMs) {
      const upDown = findUpDown(name)
      const strike = upDown === undefined ? world.strikes.market(name) : undefined
      const life = lifeNamed(name)
      return life
        ?.trades(0, life.tradesUntil(Math.min(life.lastSlot, life.slotAt(toMs))))
        .filter((trade) => trade.timeMs >= fromMs && trade.timeMs < toMs)
        .map((trade) => {
          const size = String(trade.size / 100)
          if (upDown === undefined && strike !== undefined)
            return {
              timeMs: trade.timeMs,
              instrument: strike.ticker,
              price: dollars(trade.price),
              size,
              side: trade.isSell ? 'sell' : 'buy',
              id: tradeIdOf(strike, trade),
            }
          const { leg, price, side } = seenFrom(trade)
          return {
            timeMs: trade.timeMs,
            instrument: upDown?.tokens[leg] ?? '',
            price: String(price / 1_000),
            size,
            side: side === 'BUY' ? 'buy' : 'sell',
            id: upDown === undefined ? '' : transactionOf(upDown, trade),
            ...(upDown === undefined ? {} : { fills: fillsOf(upDown, trade) }),
          }
        })
    },
    book(name, atMs) {
      const sizes = sizesAt(name, atMs)
      if (sizes === undefined) return undefined
      const level = (price: number, size: number): [string, string] => [
        String(price / 1_000),
        String(size / 100),
      ]
      const book: TrueMarketBook = { slotMs: sizes.slotMs, bids: [], asks: [] }
      const { bids, asks } = sizes
      for (let price = 1; price < 1_000; price++) {
        if (asks[price] !== 0) book.asks.push(level(price, asks[price] as number))
        if (bids[1_000 - price] !== 0) book.bids.push(level(1_000 - price, bids[1_000 - price] as number))
      }
      return book
    },
    sizes: sizesAt,
    strike(ticker) {
      const known = strikes.get(ticker)
      const market = known === undefined ? world.strikes.market(ticker) : undefined
      if (market === undefined) return known
      const life = world.lifeOfStrike(market)
      const strike: TrueStrike = {
        ticker,
        eventId: market.event.ticker,
        question: `${titleOf(market.event)} – ${strikeText(market)}`,
        createdMs: market.event.createdMs,
        volumeAt: (atMs) => volumeUntil(life, slotAt(life, atMs)) / 100,
        wasTradedAt(price, untilMs) {
          const slot = slotAt(life, untilMs)
          // From the last one on: it is nearly always this.
          for (let index = slot === undefined ? 0 : life.tradesUntil(slot); index-- > 0; )
            if (life.trade(index)?.price === Math.round(price * 1_000)) return true
          return false
        },
      }
      strikes.set(ticker, strike)
      return strike
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

function describeUpDown(world: PredictionWorld, market: UpDown): TrueUpDown {
  const life = world.lifeOf(market)
  const { slug, symbol, conditionId, eventId, question, tenor, startMs, endMs, tokens, resolvedMs } = market
  let volumes: number[] | undefined
  const isOfCandles = tenor === '1h' || tenor === '24h'
  return {
    ...{ slug, symbol, conditionId, eventId, question, kind: tenor, startMs, endMs, tokens, resolvedMs },
    createdMs: createdMsOf(market),
    winner: market.isSplit ? null : world.isUp(market) ? 'Up' : 'Down',
    volumes() {
      volumes ??= Array.from({ length: life.tradesUntil(life.lastSlot) + 1 }, (_, count) =>
        volumeOf(life, count),
      )
      return volumes
    },
    volumeAt: (atMs) => volumeOf(life, life.tradesUntil(slotOf(life, atMs))),
    liquidities(untilMs) {
      const [bids, asks] = [new Int32Array(LEVELS), new Int32Array(LEVELS)]
      const found = new Set<number>()
      for (let slot = life.slotAt(market.bookFromMs - 3_600_000); slot <= slotOf(life, untilMs); slot++) {
        life.fill(slot, bids, asks)
        found.add(liquidityOf(bids, asks))
      }
      return found
    },
    referencePrice: (atMs) =>
      isOfCandles
        ? Math.round(world.price.priceE8(symbol, atMs) / 1e6) / 100
        : world.price.mean60E8(symbol, atMs) / 1e8,
  }
}
