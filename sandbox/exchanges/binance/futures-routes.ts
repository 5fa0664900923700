/** Routes of the futures product beyond the shared ones: funding, open interest, statistics. */
import { type BarInterval, barOpen, barStep } from '../world/bar-interval.ts'
import { fixed } from '../world/fixed.ts'
import { GENESIS_MS } from '../world/trade.ts'
import type { MarketWorld, World } from '../world/world.ts'
import { BinanceError, limitFrom, marketFrom, missing, rangeFrom } from './query.ts'
import type { RestLimits, Route } from './rest.ts'
import { priceText, sizeText } from './text.ts'

const PERIODS = ['5m', '15m', '30m', '1h', '2h', '4h', '6h', '12h', '1d'] as const satisfies BarInterval[]
/** Statistics reach back one month; a caller that asks for exactly that must not lose a race with the clock. */
const STATISTICS_KEPT_MS = 31 * 86_400_000
const STATISTICS_GRACE_MS = 600_000

export function futuresRoutes(world: World, limits: RestLimits): Record<string, Route> {
  const market = (query: URLSearchParams) => marketFrom(world, 'futures', query)
  return {
    '/fapi/v1/exchangeInfo': {
      weight: () => 1,
      handle: (_query, nowMs) => exchangeInfo(world, limits, nowMs),
    },
    '/fapi/v1/premiumIndex': {
      weight: (query) => (query.has('symbol') ? 1 : 10),
      handle: (query, nowMs) =>
        query.has('symbol')
          ? premiumIndex(market(query), nowMs)
          : `[${world
              .all('futures')
              .map((entry) => premiumIndex(entry, nowMs))
              .join(',')}]`,
    },
    '/fapi/v1/fundingRate': {
      weight: () => 0,
      pool: 'funding',
      handle: (query, nowMs) => fundingRates(world, query, nowMs),
    },
    // Only contracts with changed terms are listed; ours all settle every eight hours.
    '/fapi/v1/fundingInfo': { weight: () => 0, pool: 'funding', handle: () => '[]' },
    '/fapi/v1/openInterest': {
      weight: () => 1,
      handle: (query, nowMs) => {
        const { market: about, derivatives } = market(query)
        return `{"symbol":"${about.name}","openInterest":"${sizeText(about, derivatives.openInterest(nowMs))}","time":${nowMs}}`
      },
    },
    '/futures/data/openInterestHist': {
      weight: () => 0,
      pool: 'statistics',
      handle: (query, nowMs) => {
        const entry = market(query)
        return `[${periodEnds(query, nowMs)
          .times.map((at) => openInterestRow(entry, at))
          .join(',')}]`
      },
    },
    '/futures/data/takerlongshortRatio': {
      weight: () => 0,
      pool: 'statistics',
      handle: (query, nowMs) => {
        const entry = market(query)
        const { times, period } = periodEnds(query, nowMs)
        return `[${times.map((at) => takerRow(entry, barStep(at, period, -1), at)).join(',')}]`
      },
    },
  }
}

function premiumIndex({ market, derivatives }: MarketWorld, nowMs: number): string {
  const index = derivatives.indexPrice(nowMs).toFixed(8)
  const nextMs = (Math.floor(nowMs / derivatives.fundingEveryMs) + 1) * derivatives.fundingEveryMs
  return (
    `{"symbol":"${market.name}","markPrice":"${derivatives.markPrice(nowMs).toFixed(8)}","indexPrice":"${index}",` +
    `"estimatedSettlePrice":"${index}","lastFundingRate":"${derivatives.runningRate(nowMs).toFixed(8)}",` +
    `"interestRate":"0.00010000","nextFundingTime":${nextMs},"time":${nowMs}}`
  )
}

/** No times: the newest; from: the oldest there. */
function fundingRates(world: World, query: URLSearchParams, nowMs: number): string {
  const { market, derivatives } = marketFrom(world, 'futures', query)
  const limit = limitFrom('futures', query, 100, 1_000)
  const { fromMs, toMs } = rangeFrom(query)
  const endMs = Math.min(toMs ?? nowMs, nowMs)
  const rows =
    fromMs === undefined
      ? derivatives.settlements(GENESIS_MS, endMs, Number.POSITIVE_INFINITY).slice(-limit)
      : derivatives.settlements(fromMs, endMs, limit)
  return `[${rows
    .map(
      (row) =>
        `{"symbol":"${market.name}","fundingTime":${row.timeMs},"fundingRate":"${row.rate.toFixed(8)}","markPrice":"${row.markPrice.toFixed(8)}","rateType":"Regular"}`,
    )
    .join(',')}]`
}

/** The ends of the closed periods in a range: what the statistics are stamped with. */
function periodEnds(query: URLSearchParams, nowMs: number): { times: number[]; period: BarInterval } {
  const text = query.get('period') ?? ''
  if (text === '') throw missing('period')
  const period = PERIODS.find((known) => known === text)
  if (period === undefined) throw new BinanceError(-1130, "Data sent for parameter 'period' is not valid.")
  const limit = limitFrom('futures', query, 30, 500)
  const { fromMs, toMs } = rangeFrom(query)
  const oldestMs = nowMs - STATISTICS_KEPT_MS
  if (fromMs !== undefined && fromMs < oldestMs - STATISTICS_GRACE_MS)
    throw new BinanceError(-1130, "parameter 'startTime' is invalid.")
  const lastMs = barOpen(Math.min(toMs ?? nowMs, nowMs), period)
  const times: number[] = []
  if (fromMs === undefined) {
    for (let at = lastMs; at >= oldestMs && times.length < limit; at = barStep(at, period, -1)) times.push(at)
    return { times: times.reverse(), period }
  }
  const floor = barOpen(fromMs, period)
  let at = floor === fromMs ? floor : barStep(floor, period, 1)
  for (; at <= lastMs && times.length < limit; at = barStep(at, period, 1)) times.push(at)
  return { times, period }
}

function openInterestRow({ market, derivatives }: MarketWorld, atMs: number): string {
  const lots = derivatives.openInterest(atMs)
  const value = (lots / 10 ** market.sizeDecimals) * derivatives.markPrice(atMs)
  return `{"symbol":"${market.name}","sumOpenInterest":"${sizeText(market, lots)}","sumOpenInterestValue":"${value.toFixed(2)}","CMCCirculatingSupply":"0","timestamp":${atMs}}`
}

function takerRow({ market, bars }: MarketWorld, fromMs: number, toMs: number): string {
  const bar = bars.total(fromMs, toMs)
  const sellLots = bar.lots - bar.buyLots
  const ratio = sellLots === 0 ? '0.0000' : (bar.buyLots / sellLots).toFixed(4)
  return `{"buySellRatio":"${ratio}","buyVol":"${sizeText(market, bar.buyLots)}","sellVol":"${sizeText(market, sellLots)}","timestamp":${toMs}}`
}

function exchangeInfo(world: World, limits: RestLimits, nowMs: number): string {
  return JSON.stringify({
    timezone: 'UTC',
    serverTime: nowMs,
    futuresType: 'U_MARGINED',
    rateLimits: [
      { rateLimitType: 'REQUEST_WEIGHT', interval: 'MINUTE', intervalNum: 1, limit: limits.weightPerMinute },
      { rateLimitType: 'ORDERS', interval: 'MINUTE', intervalNum: 1, limit: 1_200 },
      { rateLimitType: 'ORDERS', interval: 'SECOND', intervalNum: 10, limit: 300 },
    ],
    exchangeFilters: [],
    assets: [{ asset: 'USDT', marginAvailable: true, autoAssetExchange: '-10000' }],
    symbols: world.all('futures').map(contractInfo),
  })
}

function contractInfo({ market }: MarketWorld): unknown {
  const tick = priceText(market, 1)
  const step = fixed(1, market.sizeDecimals, market.sizeDecimals)
  return {
    symbol: market.name,
    pair: market.name,
    contractType: 'PERPETUAL',
    deliveryDate: 4_133_404_800_000,
    onboardDate: GENESIS_MS,
    status: 'TRADING',
    maintMarginPercent: '2.5000',
    requiredMarginPercent: '5.0000',
    baseAsset: market.symbol,
    quoteAsset: 'USDT',
    marginAsset: 'USDT',
    pricePrecision: market.shownPrice,
    quantityPrecision: market.sizeDecimals,
    baseAssetPrecision: 8,
    quotePrecision: 8,
    underlyingType: 'COIN',
    underlyingSubType: [],
    settlePlan: 0,
    triggerProtect: '0.0500',
    liquidationFee: '0.012000',
    marketTakeBound: '0.30',
    filters: [
      { minPrice: tick, maxPrice: '1000000', filterType: 'PRICE_FILTER', tickSize: tick },
      { stepSize: step, filterType: 'LOT_SIZE', maxQty: '1000000', minQty: step },
      { stepSize: step, filterType: 'MARKET_LOT_SIZE', maxQty: '100000', minQty: step },
      { limit: 200, filterType: 'MAX_NUM_ORDERS' },
      { limit: 10, filterType: 'MAX_NUM_ALGO_ORDERS' },
      { notional: '5', filterType: 'MIN_NOTIONAL' },
      {
        multiplierDown: '0.8500',
        multiplierUp: '1.1500',
        multiplierDecimal: '4',
        filterType: 'PERCENT_PRICE',
      },
    ],
    orderTypes: [
      'LIMIT',
      'MARKET',
      'STOP',
      'STOP_MARKET',
      'TAKE_PROFIT',
      'TAKE_PROFIT_MARKET',
      'TRAILING_STOP_MARKET',
    ],
    timeInForce: ['GTC', 'IOC', 'FOK', 'GTX'],
  }
}
