/**
 * What really happened, in the venues' own decimals: for tests that compare a store with the sandbox. Faults never
 * change the truth. Ranges are from ≤ time < to and may lie in the future.
 */

import { perpTradeId } from '../../sandbox/exchanges/perp/payloads.ts'
import { slotOf, updateIdOf } from '../../sandbox/exchanges/world/book.ts'
import { candleOpens } from '../../sandbox/exchanges/world/candles.ts'
import { fixed, fixedBig } from '../../sandbox/exchanges/world/fixed.ts'
import type { ExchangeVenue, Market } from '../../sandbox/exchanges/world/markets.ts'
import type { MarketWorld, World } from '../../sandbox/exchanges/world/world.ts'
import { worldPrice } from '../../sandbox/exchanges/world/world-price.ts'
import type { CandleInterval } from '../../src/core/interval.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'

interface TrueTrade {
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

interface TrueKline {
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

export interface ExchangeTruth {
  trades(venue: ExchangeVenue, symbol: AssetSymbol, fromMs: number, toMs: number): TrueTrade[]
  /** Candles that open in the range, as complete as they are at `nowMs` (Infinity: as they will close). */
  klines(
    venue: ExchangeVenue,
    symbol: AssetSymbol,
    interval: CandleInterval,
    fromMs: number,
    toMs: number,
    nowMs?: number,
  ): TrueKline[]
  book(venue: ExchangeVenue, symbol: AssetSymbol, atMs: number, depth: number): TrueBook
  funding(
    venue: ExchangeVenue,
    symbol: AssetSymbol,
    fromMs: number,
    toMs: number,
  ): { dueMs: number; timeMs: number; rate: number }[]
  openInterest(venue: ExchangeVenue, symbol: AssetSymbol, atMs: number): string
  /** Mark price in US dollars; on spot the price of the world. */
  markPrice(venue: ExchangeVenue, symbol: AssetSymbol, atMs: number): number
  liquidations(symbol: AssetSymbol, fromMs: number, toMs: number): TrueLiquidation[]
  spotPrice(symbol: AssetSymbol, atMs: number): number
}

interface TrueBook {
  slotMs: number
  updateId: number
  bids: [price: string, size: string][]
  asks: [price: string, size: string][]
}

interface TrueLiquidation {
  timeMs: number
  side: 'long' | 'short'
  size: string
  price: string
  averagePrice: string
}

export function createExchangeTruth(world: World): ExchangeTruth {
  const complete = completeKlines()
  return {
    trades(venue, symbol, fromMs, toMs) {
      const { market, tape } = world.of(venue, symbol)
      const published = tape.between(fromMs, toMs, Number.POSITIVE_INFINITY)
      // A fill of nothing is no trade.
      return published
        .filter(({ lots }) => lots > 0)
        .map((trade) => ({
          id: trade.id,
          ...(venue === 'perp' ? { tid: perpTradeId(world.seed, market, trade.id) } : {}),
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
      const opens = candleOpens(interval, {
        fromMs,
        toMs: toMs - 1,
        limit: Number.POSITIVE_INFINITY,
        nowMs: Math.min(nowMs, toMs),
      })
      const before = opens.filter((openMs) => openMs < toMs)
      if (nowMs !== Number.POSITIVE_INFINITY)
        return before.map((openMs) => klineOf(entry, openMs, interval, nowMs))
      const known = complete.of(entry, interval)
      return before.map((openMs) => {
        let kline = known.get(openMs)
        if (kline === undefined) {
          kline = klineOf(entry, openMs, interval, nowMs)
          known.set(openMs, kline)
        }
        return kline
      })
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

/** Whole candles never change, and each is compared at many looks. */
function completeKlines() {
  const known = new Map<MarketWorld, Map<CandleInterval, Map<number, TrueKline>>>()
  return {
    of(entry: MarketWorld, interval: CandleInterval): Map<number, TrueKline> {
      const ofEntry = known.get(entry) ?? new Map<CandleInterval, Map<number, TrueKline>>()
      known.set(entry, ofEntry)
      const klines = ofEntry.get(interval) ?? new Map<number, TrueKline>()
      ofEntry.set(interval, klines)
      return klines
    },
  }
}

function klineOf(
  { market, candles }: MarketWorld,
  openMs: number,
  interval: CandleInterval,
  nowMs: number,
): TrueKline {
  const candle = candles.at(openMs, interval, nowMs)
  const decimals = market.priceDecimals + market.sizeDecimals
  return {
    openMs,
    closeMs: candle.closeMs,
    open: price(market, candle.open),
    high: price(market, candle.high),
    low: price(market, candle.low),
    close: price(market, candle.close),
    volume: size(market, candle.lots),
    quoteVolume: fixedBig(candle.quote, decimals, decimals),
    count: candle.fills,
    trades: candle.trades,
    takerBuyVolume: size(market, candle.buyLots),
    takerBuyQuoteVolume: fixedBig(candle.buyQuote, decimals, decimals),
  }
}
