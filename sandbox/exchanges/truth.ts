/**
 * What really happened, in the venues' own decimals: for tests and operators that compare a store with the
 * sandbox. Faults never change the truth. Ranges are from ≤ time < to and may lie in the future.
 */
import { type AssetSymbol, parseSymbol } from '../../src/core/symbol.ts'
import { type BarInterval, parseBarInterval } from './world/bar-interval.ts'
import { barOpens } from './world/bars.ts'
import { slotOf, updateIdOf } from './world/book.ts'
import { fixed, fixedBig } from './world/fixed.ts'
import { type Market, VENUES, type Venue } from './world/markets.ts'
import type { MarketWorld, World } from './world/world.ts'
import { worldPrice } from './world/world-price.ts'

export interface TrueTrade {
  id: number
  /** The perpetual venue's trade id. */
  tid?: number
  timeMs: number
  price: string
  size: string
  side: 'buy' | 'sell'
  firstFill: number
  lastFill: number
}

export interface TrueKline {
  openMs: number
  closeMs: number
  open: string
  high: string
  low: string
  close: string
  volume: string
  quoteVolume: string
  /** As the venue counts: raw fills on the exchanges, trades on the perpetual venue. */
  count: number
  /** Aggregate trades. */
  trades: number
  takerBuyVolume: string
  takerBuyQuoteVolume: string
}

export interface Truth {
  trades(venue: Venue, symbol: AssetSymbol, fromMs: number, toMs: number): TrueTrade[]
  /** Bars that open in the range, as complete as they are at `nowMs` (Infinity: as they will close). */
  klines(
    venue: Venue,
    symbol: AssetSymbol,
    interval: BarInterval,
    fromMs: number,
    toMs: number,
    nowMs?: number,
  ): TrueKline[]
  book(venue: Venue, symbol: AssetSymbol, atMs: number, depth: number): TrueBook
  funding(
    venue: Venue,
    symbol: AssetSymbol,
    fromMs: number,
    toMs: number,
  ): { dueMs: number; timeMs: number; rate: number }[]
  openInterest(venue: Venue, symbol: AssetSymbol, atMs: number): string
  /** Mark price in US dollars; on spot the price of the world. */
  markPrice(venue: Venue, symbol: AssetSymbol, atMs: number): number
  liquidations(symbol: AssetSymbol, fromMs: number, toMs: number): TrueLiquidation[]
  spotPrice(symbol: AssetSymbol, atMs: number): number
}

export interface TrueBook {
  slotMs: number
  updateId: number
  bids: [price: string, size: string][]
  asks: [price: string, size: string][]
}

export interface TrueLiquidation {
  timeMs: number
  side: 'long' | 'short'
  size: string
  price: string
  averagePrice: string
}

export function createTruth(world: World, perpTradeId: (market: Market, id: number) => number): Truth {
  return {
    trades(venue, symbol, fromMs, toMs) {
      const { market, tape } = world.of(venue, symbol)
      return tape.between(fromMs, toMs, Number.POSITIVE_INFINITY).map((trade) => ({
        id: trade.id,
        ...(venue === 'perp' ? { tid: perpTradeId(market, trade.id) } : {}),
        timeMs: trade.timeMs,
        price: price(market, trade.price),
        size: size(market, trade.lots),
        side: trade.takerBuys ? 'buy' : 'sell',
        firstFill: trade.firstFill,
        lastFill: trade.lastFill,
      }))
    },
    klines(venue, symbol, interval, fromMs, toMs, nowMs = Number.POSITIVE_INFINITY) {
      const entry = world.of(venue, symbol)
      const opens = barOpens(interval, {
        fromMs,
        toMs: toMs - 1,
        limit: Number.POSITIVE_INFINITY,
        nowMs: Math.min(nowMs, toMs),
      })
      return opens.filter((openMs) => openMs < toMs).map((openMs) => klineOf(entry, openMs, interval, nowMs))
    },
    book(venue, symbol, atMs, depth) {
      const { market, book } = world.of(venue, symbol)
      const slot = slotOf(atMs)
      const side = (levels: readonly (readonly [number, number])[]): [string, string][] =>
        levels.map(([ticks, lots]) => [price(market, ticks), size(market, lots)])
      const state = book.top(slot, depth)
      return {
        slotMs: slot * 100,
        updateId: updateIdOf(slot),
        bids: side(state.bids),
        asks: side(state.asks),
      }
    },
    funding(venue, symbol, fromMs, toMs) {
      const { derivatives } = world.of(venue, symbol)
      return derivatives
        .settlements(fromMs, toMs - 1, Number.POSITIVE_INFINITY)
        .map(({ dueMs, timeMs, rate }) => ({ dueMs, timeMs, rate }))
    },
    openInterest(venue, symbol, atMs) {
      const { market, derivatives } = world.of(venue, symbol)
      return size(market, derivatives.openInterest(atMs))
    },
    markPrice: (venue, symbol, atMs) => world.of(venue, symbol).derivatives.markPrice(atMs),
    liquidations(symbol, fromMs, toMs) {
      const { market, derivatives } = world.of('futures', symbol)
      return derivatives.liquidations(fromMs, toMs).map((row) => ({
        timeMs: row.timeMs,
        side: row.side === 'SELL' ? 'long' : 'short',
        size: size(market, row.lots),
        price: price(market, row.price),
        averagePrice: price(market, row.averagePrice),
      }))
    },
    spotPrice: (symbol, atMs) => worldPrice(world.seed, symbol, atMs),
  }
}

const price = (market: Market, ticks: number): string =>
  fixed(ticks, market.priceDecimals, market.priceDecimals)
const size = (market: Market, lots: number): string => fixed(lots, market.sizeDecimals, market.sizeDecimals)

function klineOf(
  { market, bars }: MarketWorld,
  openMs: number,
  interval: BarInterval,
  nowMs: number,
): TrueKline {
  const bar = bars.at(openMs, interval, nowMs)
  const decimals = market.priceDecimals + market.sizeDecimals
  return {
    openMs,
    closeMs: bar.closeMs,
    open: price(market, bar.open),
    high: price(market, bar.high),
    low: price(market, bar.low),
    close: price(market, bar.close),
    volume: size(market, bar.lots),
    quoteVolume: fixedBig(bar.quote, decimals, decimals),
    count: bar.fills,
    trades: bar.trades,
    takerBuyVolume: size(market, bar.buyLots),
    takerBuyQuoteVolume: fixedBig(bar.buyQuote, decimals, decimals),
  }
}

/** A `/truth/…` request of the control port; undefined for a question it does not know. Throws on bad parameters. */
export function askTruth(truth: Truth, what: string, query: URLSearchParams): unknown {
  const venue = oneOf(query, 'venue', (text) => VENUES.find((known) => known === text))
  const symbol = oneOf(query, 'symbol', parseSymbol)
  const from = () => time(query, 'from')
  const to = () => time(query, 'to')
  switch (what) {
    case 'trades':
      return truth.trades(venue, symbol, from(), to())
    case 'klines':
      return truth.klines(
        venue,
        symbol,
        oneOf(query, 'interval', parseBarInterval),
        from(),
        to(),
        query.has('now') ? time(query, 'now') : undefined,
      )
    case 'book':
      return truth.book(venue, symbol, time(query, 'at'), Number(query.get('depth') ?? 20))
    case 'funding':
      return truth.funding(venue, symbol, from(), to())
    case 'open-interest':
      return truth.openInterest(venue, symbol, time(query, 'at'))
    case 'mark-price':
      return truth.markPrice(venue, symbol, time(query, 'at'))
    case 'liquidations':
      return truth.liquidations(symbol, from(), to())
    case 'price':
      return truth.spotPrice(symbol, time(query, 'at'))
    default:
      return undefined
  }
}

function oneOf<T>(query: URLSearchParams, name: string, parse: (text: string) => T | undefined): T {
  const value = parse(query.get(name) ?? '')
  if (value === undefined) throw new RangeError(`${name} is missing or unknown`)
  return value
}

function time(query: URLSearchParams, name: string): number {
  const value = Number(query.get(name) ?? Number.NaN)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${name} must be epoch milliseconds`)
  return value
}
