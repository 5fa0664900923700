/** The routes that a recorder uses: time, candles, trades and depth; for futures also funding and open interest. */
import { CANDLE_INTERVALS, candleStart, INTERVAL_MS } from '../../../src/core/interval.ts'
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import { mapInSlices } from '../../server/slices.ts'
import type { IsListed } from '../venue-server.ts'
import { slotOf, updateIdOf } from '../world/book.ts'
import { candleOpens } from '../world/candles.ts'
import { GENESIS_MS, type Trade } from '../world/trade.ts'
import type { MarketWorld, World } from '../world/world.ts'
import { aggTradeRow, klineRow, levelRows, sizeText, spotInfo } from './payloads.ts'
import {
  BinanceError,
  integerFrom,
  intervalFrom,
  limitFrom,
  marketFrom,
  missing,
  type Product,
  type RestLimits,
  type Route,
  rangeFrom,
} from './rest.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const PERIODS = CANDLE_INTERVALS.filter((interval) => INTERVAL_MS[interval] >= INTERVAL_MS['5m'])
/**
 * Statistics reach back one month, plus a grace period, so that a caller that asks for exactly that does not lose a
 * race with the clock.
 */
const STATISTICS_RETAINED_MS = 31 * DAY_MS
const STATISTICS_GRACE_MS = 600_000

interface ProductRules {
  readonly product: Product
  readonly prefix: string
  readonly maxKlines: number
  readonly klinesWeight: (limit: number) => number
  readonly aggTradesWeight: number
  readonly depthWeight: (limit: number) => number
  readonly normalDepth: number
  readonly depthLimits: readonly number[] | undefined
  readonly maxDepth: number
  /** How far back aggregate trades reach. */
  readonly aggTradesRetainedMs: number
}

const RULES: Record<Product, ProductRules> = {
  spot: {
    product: 'spot',
    prefix: '/api/v3',
    maxKlines: 1_000,
    klinesWeight: () => 2,
    aggTradesWeight: 4,
    depthWeight: (limit) => (limit <= 100 ? 5 : limit <= 500 ? 25 : limit <= 1_000 ? 50 : 250),
    normalDepth: 100,
    depthLimits: undefined,
    maxDepth: 5_000,
    aggTradesRetainedMs: Number.POSITIVE_INFINITY,
  },
  futures: {
    product: 'futures',
    prefix: '/fapi/v1',
    maxKlines: 1_500,
    klinesWeight: (limit) => (limit < 100 ? 1 : limit < 500 ? 2 : limit <= 1_000 ? 5 : 10),
    aggTradesWeight: 20,
    depthWeight: (limit) => (limit <= 50 ? 2 : limit <= 100 ? 5 : limit <= 500 ? 10 : 20),
    normalDepth: 500,
    depthLimits: [5, 10, 20, 50, 100, 500, 1_000],
    maxDepth: 1_000,
    aggTradesRetainedMs: DAY_MS,
  },
}

export function routesOf(
  world: World,
  product: Product,
  limits: RestLimits,
  isListed: IsListed,
  quietLagMs: (symbol: AssetSymbol) => number,
): Record<string, Route> {
  const rules = RULES[product]
  const { prefix } = rules
  const asked = (query: URLSearchParams, normal: number) => Number(query.get('limit') ?? normal)
  return {
    [`${prefix}/time`]: {
      weight: () => 1,
      isClock: true,
      handle: (_query, nowMs) => ({ serverTime: nowMs }),
    },
    [`${prefix}/klines`]: {
      weight: (query) => rules.klinesWeight(asked(query, 500)),
      handle: (query, nowMs) => {
        const { market, candles } = marketFrom(world, product, query)
        const interval = intervalFrom(product, query)
        const limit = limitFrom(product, query, 500, rules.maxKlines)
        const range = rangeFrom(query)
        const rowsOf = async (rows: number) => {
          const opens = candleOpens(interval, { ...range, limit: rows, nowMs })
          return mapInSlices(opens, (openMs) => candles.at(openMs, interval, nowMs))
        }
        const unpublishedMs = interval === '1s' ? 0 : quietLagMs(market.symbol)
        return rowsOf(unpublishedMs === 0 ? limit : rules.maxKlines).then((all) => {
          const published = all.filter(
            ({ trades, closeMs }) => trades > 0 || closeMs + unpublishedMs < nowMs || unpublishedMs === 0,
          )
          const rows = range.fromMs === undefined ? published.slice(-limit) : published.slice(0, limit)
          return rows.map((candle) => klineRow(market, candle))
        })
      },
    },
    [`${prefix}/aggTrades`]: {
      weight: () => rules.aggTradesWeight,
      handle: (query, nowMs) => {
        const entry = marketFrom(world, product, query)
        return aggTradesOf(entry, rules, query, nowMs).map((trade) => aggTradeRow(entry.market, trade))
      },
    },
    [`${prefix}/depth`]: {
      weight: (query) => rules.depthWeight(asked(query, rules.normalDepth)),
      handle: (query, nowMs) => depthOf(marketFrom(world, product, query), rules, query, nowMs),
    },
    ...(product === 'spot' ? spotRoutes(world, limits, isListed) : futuresRoutes(world)),
  }
}

const spotRoutes = (world: World, limits: RestLimits, isListed: IsListed): Record<string, Route> => ({
  '/api/v3/exchangeInfo': {
    weight: () => 20,
    handle: (query, nowMs) => {
      const markets = askedSymbols(world, query).map(({ market }) => market)
      return spotInfo(markets, { weightPerMinute: limits.weightPerMinute, nowMs, isListed })
    },
  },
})

const futuresRoutes = (world: World): Record<string, Route> => ({
  '/fapi/v1/premiumIndex': {
    weight: () => 1,
    namesSymbol: true,
    handle: (query, nowMs) => {
      const { market, derivatives } = marketFrom(world, 'futures', query)
      const index = derivatives.indexPrice(nowMs).toFixed(8)
      return {
        symbol: market.name,
        markPrice: derivatives.markPrice(nowMs).toFixed(8),
        indexPrice: index,
        estimatedSettlePrice: index,
        lastFundingRate: derivatives.runningRate(nowMs).toFixed(8),
        interestRate: '0.00010000',
        nextFundingTime: derivatives.nextFundingMs(nowMs),
        time: nowMs,
      }
    },
  },
  '/fapi/v1/fundingRate': {
    weight: () => 0,
    pool: 'funding',
    namesSymbol: true,
    handle: (query, nowMs) => fundingRates(world, query, nowMs),
  },
  '/futures/data/openInterestHist': {
    weight: () => 0,
    pool: 'statistics',
    namesSymbol: true,
    handle: (query, nowMs) => {
      const { market, derivatives } = marketFrom(world, 'futures', query)
      return periodEnds(query, nowMs).map((atMs) => {
        const lots = derivatives.openInterest(atMs)
        const value = (lots / 10 ** market.sizeDecimals) * derivatives.markPrice(atMs)
        return {
          symbol: market.name,
          sumOpenInterest: sizeText(market, lots),
          sumOpenInterestValue: value.toFixed(2),
          CMCCirculatingSupply: '0',
          timestamp: atMs,
        }
      })
    },
  },
})

/**
 * Without times: the newest trades. With a start: the oldest from there. With an end only: the newest up to there. An
 * id older than the retained trades returns the earliest retained ones, not an error.
 */
function aggTradesOf(
  { tape }: MarketWorld,
  rules: ProductRules,
  query: URLSearchParams,
  nowMs: number,
): Trade[] {
  const limit = limitFrom(rules.product, query, 500, 1_000)
  const fromId = integerFrom(query, 'fromId')
  const { fromMs, toMs } = rangeFrom(query)
  const earliestMs = Math.max(GENESIS_MS, nowMs - rules.aggTradesRetainedMs)
  const endMs = Math.min(toMs ?? nowMs, nowMs) + 1
  if (fromId !== undefined) {
    if (fromMs !== undefined || toMs !== undefined)
      throw new BinanceError(-1128, 'Combination of optional parameters invalid.')
    return tape.fromId(Math.max(fromId, tape.firstIdAt(earliestMs)), endMs, limit)
  }
  if (fromMs !== undefined) {
    if (rules.product === 'futures' && toMs !== undefined && toMs - fromMs > HOUR_MS)
      throw new BinanceError(-1127, 'More than 1 hours between startTime and endTime.')
    return tape.between(Math.max(fromMs, earliestMs), endMs, limit)
  }
  return tape.fromId(Math.max(tape.firstIdAt(endMs) - limit, tape.firstIdAt(earliestMs)), endMs, limit)
}

/**
 * The id of a snapshot may lie inside a slot whose update is still to come or was just sent. Sizes are absolute, so an
 * update applied on top of its own result changes nothing.
 */
function depthOf({ market, book }: MarketWorld, rules: ProductRules, query: URLSearchParams, nowMs: number) {
  const limit = limitFrom(rules.product, query, rules.normalDepth, rules.maxDepth)
  if (rules.depthLimits !== undefined && !rules.depthLimits.includes(limit))
    throw new BinanceError(-4021, `'${limit}' is not valid depth limit.`)
  const slot = slotOf(nowMs)
  const { bids, asks } = book.top(slot, limit)
  return {
    lastUpdateId: updateIdOf(slot) - (slot % 7),
    ...(rules.product === 'spot' ? {} : { E: nowMs, T: slot * 100 }),
    bids: levelRows(market, bids),
    asks: levelRows(market, asks),
  }
}

/** Without times: the newest rates. With a start: the oldest from there. */
function fundingRates(world: World, query: URLSearchParams, nowMs: number): unknown[] {
  const { market, derivatives } = marketFrom(world, 'futures', query)
  const limit = limitFrom('futures', query, 100, 1_000)
  const { fromMs, toMs } = rangeFrom(query)
  const endMs = Math.min(toMs ?? nowMs, nowMs)
  const rows =
    fromMs === undefined
      ? derivatives.settlements(GENESIS_MS, endMs, Number.POSITIVE_INFINITY).slice(-limit)
      : derivatives.settlements(fromMs, endMs, limit)
  return rows.map((row) => ({
    symbol: market.name,
    fundingTime: row.timeMs,
    fundingRate: row.rate.toFixed(8),
    markPrice: row.markPrice.toFixed(8),
    rateType: 'Regular',
  }))
}

/** The ends of the closed periods in a range, which are the timestamps of the statistics. */
function periodEnds(query: URLSearchParams, nowMs: number): number[] {
  const text = query.get('period') ?? ''
  if (text === '') throw missing('period')
  const period = PERIODS.find((known) => known === text)
  if (period === undefined) throw new BinanceError(-1130, "Data sent for parameter 'period' is not valid.")
  const limit = limitFrom('futures', query, 30, 500)
  const { fromMs, toMs } = rangeFrom(query)
  const oldestMs = nowMs - STATISTICS_RETAINED_MS
  if (fromMs !== undefined && fromMs < oldestMs - STATISTICS_GRACE_MS)
    throw new BinanceError(-1130, "parameter 'startTime' is invalid.")
  const stepMs = INTERVAL_MS[period]
  const lastMs = candleStart(Math.min(toMs ?? nowMs, nowMs), period)
  const newest = Math.max(oldestMs, lastMs - (limit - 1) * stepMs)
  const times: number[] = []
  let at = Math.ceil((fromMs ?? newest) / stepMs) * stepMs
  for (; at <= lastMs && times.length < limit; at += stepMs) times.push(at)
  return times
}

function askedSymbols(world: World, query: URLSearchParams): readonly MarketWorld[] {
  const list = query.get('symbols')
  if (list === null) return world.all('spot')
  const names = parseNames(list)
  if (names === undefined)
    throw new BinanceError(
      -1100,
      'Illegal characters found in parameter \'symbols\'; legal range is \'^\\[("[A-Z0-9-_.]{1,20}"(,"[A-Z0-9-_.]{1,20}"){0,}){0,1}\\]$\'.',
    )
  return names.map((name) => marketFrom(world, 'spot', new URLSearchParams({ symbol: name })))
}

function parseNames(text: string): string[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) && value.every((name) => typeof name === 'string') ? value : undefined
  } catch {
    return undefined
  }
}
