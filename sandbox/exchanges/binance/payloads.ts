/** Payloads of the exchange. The order of the fields follows the recordings. */
import type { CandleInterval } from '../../../src/core/interval.ts'
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import type { Level } from '../world/book.ts'
import type { Candle } from '../world/candles.ts'
import type { Liquidation } from '../world/derivatives.ts'
import { fixed, fixedBig } from '../world/fixed.ts'
import type { Market } from '../world/markets.ts'
import type { Trade } from '../world/trade.ts'

export const priceText = (market: Market, ticks: number): string =>
  fixed(ticks, market.priceDecimals, market.shownPrice)

export const sizeText = (market: Market, lots: number): string =>
  fixed(lots, market.sizeDecimals, market.shownSize)

const quoteText = (market: Market, units: bigint): string =>
  fixedBig(units, market.priceDecimals + market.sizeDecimals, market.shownQuote)

export const levelRows = (market: Market, levels: readonly Level[]): [string, string][] =>
  levels.map(([price, lots]) => [priceText(market, price), sizeText(market, lots)])

export const klineRow = (market: Market, candle: Candle): unknown[] => [
  candle.openMs,
  priceText(market, candle.open),
  priceText(market, candle.high),
  priceText(market, candle.low),
  priceText(market, candle.close),
  sizeText(market, candle.lots),
  candle.closeMs,
  quoteText(market, candle.quote),
  candle.fills,
  sizeText(market, candle.buyLots),
  quoteText(market, candle.buyQuote),
  '0',
]

export const klineEvent = (
  market: Market,
  interval: CandleInterval,
  candle: Candle,
  about: { isClosed: boolean; eventMs: number },
) => ({
  e: 'kline',
  E: about.eventMs,
  s: market.name,
  k: {
    t: candle.openMs,
    T: candle.closeMs,
    s: market.name,
    i: interval,
    f: candle.firstFill,
    L: candle.fills === 0 ? -1 : candle.firstFill + candle.fills - 1,
    o: priceText(market, candle.open),
    c: priceText(market, candle.close),
    h: priceText(market, candle.high),
    l: priceText(market, candle.low),
    v: sizeText(market, candle.lots),
    n: candle.fills,
    x: about.isClosed,
    q: quoteText(market, candle.quote),
    V: sizeText(market, candle.buyLots),
    Q: quoteText(market, candle.buyQuote),
    B: '0',
  },
})

const tradeTail = (trade: Trade) => ({
  f: trade.firstFill,
  l: trade.lastFill,
  T: trade.timeMs,
  m: !trade.takerBuys,
})

export function aggTradeRow(market: Market, trade: Trade) {
  const q = sizeText(market, trade.lots)
  const head = { a: trade.id, p: priceText(market, trade.price), q }
  return market.venue === 'spot'
    ? { ...head, ...tradeTail(trade), M: true }
    : { ...head, nq: q, ...tradeTail(trade) }
}

export function aggTradeEvent(market: Market, trade: Trade, eventMs: number) {
  const p = priceText(market, trade.price)
  const q = sizeText(market, trade.lots)
  const head = { e: 'aggTrade', E: eventMs }
  return market.venue === 'spot'
    ? { ...head, s: market.name, a: trade.id, p, q, ...tradeTail(trade), M: true }
    : { ...head, a: trade.id, s: market.name, p, q, nq: q, ...tradeTail(trade), st: 1 }
}

export const forceOrderEvent = (market: Market, row: Liquidation, eventMs: number) => ({
  e: 'forceOrder',
  E: eventMs,
  o: {
    s: market.name,
    S: row.side,
    o: 'LIMIT',
    f: 'IOC',
    q: sizeText(market, row.lots),
    p: priceText(market, row.price),
    ap: priceText(market, row.averagePrice),
    X: 'FILLED',
    l: sizeText(market, row.lastLots),
    z: sizeText(market, row.lots),
    T: row.timeMs,
    ps: market.name,
    st: 1,
  },
})

const rateLimit = (rateLimitType: string, interval: string, intervalNum: number, limit: number) => ({
  rateLimitType,
  interval,
  intervalNum,
  limit,
})

export const spotInfo = (
  markets: readonly Market[],
  about: { weightPerMinute: number; nowMs: number; isListed: (symbol: AssetSymbol) => boolean },
) => ({
  timezone: 'UTC',
  serverTime: about.nowMs,
  rateLimits: [
    rateLimit('REQUEST_WEIGHT', 'MINUTE', 1, about.weightPerMinute),
    rateLimit('ORDERS', 'SECOND', 10, 100),
    rateLimit('ORDERS', 'DAY', 1, 200_000),
    rateLimit('RAW_REQUESTS', 'MINUTE', 5, 300_000),
  ],
  exchangeFilters: [],
  symbols: markets.map((market) => spotSymbol(market, about.isListed(market.symbol))),
})

function spotSymbol(market: Market, isListed: boolean): unknown {
  const tick = fixed(1, market.priceDecimals, 8)
  const step = fixed(1, market.sizeDecimals, 8)
  return {
    symbol: market.name,
    status: isListed ? 'TRADING' : 'BREAK',
    baseAsset: market.symbol,
    baseAssetPrecision: 8,
    quoteAsset: 'USDT',
    quotePrecision: 8,
    quoteAssetPrecision: 8,
    baseCommissionPrecision: 8,
    quoteCommissionPrecision: 8,
    orderTypes: ['LIMIT', 'LIMIT_MAKER', 'MARKET', 'STOP_LOSS_LIMIT', 'TAKE_PROFIT_LIMIT'],
    icebergAllowed: true,
    ocoAllowed: true,
    quoteOrderQtyMarketAllowed: true,
    isSpotTradingAllowed: true,
    isMarginTradingAllowed: true,
    filters: [
      { filterType: 'PRICE_FILTER', minPrice: tick, maxPrice: '1000000.00000000', tickSize: tick },
      { filterType: 'PERCENT_PRICE', multiplierUp: '5', multiplierDown: '0.2', avgPriceMins: 5 },
      { filterType: 'LOT_SIZE', minQty: step, maxQty: '9000000.00000000', stepSize: step },
      { filterType: 'MIN_NOTIONAL', minNotional: '5.00000000', applyToMarket: true, avgPriceMins: 5 },
      { filterType: 'ICEBERG_PARTS', limit: 10 },
      { filterType: 'MARKET_LOT_SIZE', minQty: '0.00000000', maxQty: '100.00000000', stepSize: '0.00000000' },
      { filterType: 'MAX_NUM_ORDERS', maxNumOrders: 200 },
      { filterType: 'MAX_NUM_ALGO_ORDERS', maxNumAlgoOrders: 5 },
    ],
    permissions: ['SPOT', 'MARGIN'],
  }
}
