/** Routes that spot and futures share: time, candles, trades, depth. */
import { mapInSlices } from '../server/slices.ts'
import { barOpens } from '../world/bars.ts'
import { slotOf, updateIdOf } from '../world/book.ts'
import { GENESIS_MS, type Trade } from '../world/trade.ts'
import type { MarketWorld, World } from '../world/world.ts'
import { BinanceError, integerFrom, intervalFrom, limitFrom, marketFrom, rangeFrom } from './query.ts'
import type { Route } from './rest.ts'
import type { Product } from './streams.ts'
import { aggTradeRow, klineRow, levelsText, priceText, touchText, tradeRows } from './text.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

export interface ProductRules {
  readonly product: Product
  readonly prefix: string
  readonly maxKlines: number
  readonly klinesWeight: (limit: number) => number
  readonly aggTradesWeight: number
  readonly tradesWeight: number
  readonly depthWeight: (limit: number) => number
  readonly depthLimits: readonly number[] | undefined
  readonly maxDepth: number
  /** How far back aggregate trades are kept. */
  readonly aggTradesKeptMs: number
}

export function marketRoutes(world: World, rules: ProductRules): Record<string, Route> {
  const { product, prefix } = rules
  const flat = (weight: number) => () => weight
  const market = (query: URLSearchParams) => marketFrom(world, product, query)
  const asked = (query: URLSearchParams, normal: number) => Number(query.get('limit') ?? normal)
  return {
    [`${prefix}/ping`]: { weight: flat(1), handle: () => '{}' },
    [`${prefix}/time`]: { weight: flat(1), handle: (_query, nowMs) => `{"serverTime":${nowMs}}` },
    [`${prefix}/klines`]: {
      weight: (query) => rules.klinesWeight(asked(query, 500)),
      handle: async (query, nowMs) => {
        const entry = market(query)
        const interval = intervalFrom(product, query)
        const limit = limitFrom(product, query, 500, rules.maxKlines)
        const opens = barOpens(interval, { ...rangeFrom(query), limit, nowMs })
        const row = (openMs: number) => klineRow(entry.market, entry.bars.at(openMs, interval, nowMs))
        const rows = await mapInSlices(opens, row)
        return `[${rows.join(',')}]`
      },
    },
    [`${prefix}/aggTrades`]: {
      weight: flat(rules.aggTradesWeight),
      handle: (query, nowMs) => {
        const entry = market(query)
        const rows = aggTradesOf(entry, rules, query, nowMs)
        return `[${rows.map((trade) => aggTradeRow(entry.market, trade)).join(',')}]`
      },
    },
    [`${prefix}/trades`]: {
      weight: flat(rules.tradesWeight),
      handle: (query, nowMs) => {
        const { market: about, tape } = market(query)
        const limit = limitFrom(product, query, 500, 1_000)
        const newest = tape.fromId(tape.firstIdAt(nowMs + 1) - limit, nowMs + 1, limit)
        return `[${newest
          .flatMap((trade) => tradeRows(about, trade))
          .slice(-limit)
          .join(',')}]`
      },
    },
    [`${prefix}/depth`]: {
      weight: (query) => rules.depthWeight(asked(query, product === 'spot' ? 100 : 500)),
      handle: (query, nowMs) => depthText(market(query), rules, query, nowMs),
    },
    [`${prefix}/ticker/bookTicker`]: {
      weight: flat(2),
      handle: (query, nowMs) => {
        const { market: about, book } = market(query)
        const [bid, bidSize, ask, askSize] = touchText(about, book.top(slotOf(nowMs), 1))
        const touch = `{"symbol":"${about.name}","bidPrice":"${bid}","bidQty":"${bidSize}","askPrice":"${ask}","askQty":"${askSize}"`
        return product === 'spot'
          ? `${touch}}`
          : `${touch},"time":${nowMs},"lastUpdateId":${updateIdOf(slotOf(nowMs))}}`
      },
    },
    [product === 'spot' ? `${prefix}/ticker/price` : '/fapi/v2/ticker/price']: {
      weight: flat(product === 'spot' ? 2 : 1),
      handle: (query, nowMs) => {
        const { market: about, bars } = market(query)
        const price = `{"symbol":"${about.name}","price":"${priceText(about, bars.lastPrice(nowMs + 1))}"`
        return product === 'spot' ? `${price}}` : `${price},"time":${nowMs}}`
      },
    },
  }
}

/** No times: the newest. From: the oldest there. To only: the newest up to there. An id older than what is kept
 * answers with the earliest there is, not with an error. */
function aggTradesOf(
  entry: MarketWorld,
  rules: ProductRules,
  query: URLSearchParams,
  nowMs: number,
): Trade[] {
  const { tape } = entry
  const limit = limitFrom(rules.product, query, 500, 1_000)
  const fromId = integerFrom(query, 'fromId')
  const { fromMs, toMs } = rangeFrom(query)
  const earliestMs = Math.max(GENESIS_MS, nowMs - rules.aggTradesKeptMs)
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
 * The id of a snapshot may lie inside the slot whose update is still to come or just went out: sizes are
 * absolute, so an update applied over its own result changes nothing.
 */
function depthText(entry: MarketWorld, rules: ProductRules, query: URLSearchParams, nowMs: number): string {
  const limit = limitFrom(rules.product, query, rules.product === 'spot' ? 100 : 500, rules.maxDepth)
  if (rules.depthLimits !== undefined && !rules.depthLimits.includes(limit))
    throw new BinanceError(-4021, `'${limit}' is not valid depth limit.`)
  const slot = slotOf(nowMs)
  const { bids, asks } = entry.book.at(slot)
  const sides = `"bids":${levelsText(entry.market, bids.slice(0, limit))},"asks":${levelsText(entry.market, asks.slice(0, limit))}`
  const lastUpdateId = updateIdOf(slot) - (slot % 7)
  return rules.product === 'spot'
    ? `{"lastUpdateId":${lastUpdateId},${sides}}`
    : `{"lastUpdateId":${lastUpdateId},"E":${nowMs},"T":${slot * 100},${sides}}`
}

export const SPOT_RULES: ProductRules = {
  product: 'spot',
  prefix: '/api/v3',
  maxKlines: 1_000,
  klinesWeight: () => 2,
  aggTradesWeight: 4,
  tradesWeight: 25,
  depthWeight: (limit) => (limit <= 100 ? 5 : limit <= 500 ? 25 : limit <= 1_000 ? 50 : 250),
  depthLimits: undefined,
  maxDepth: 5_000,
  aggTradesKeptMs: Number.POSITIVE_INFINITY,
}

export const FUTURES_RULES: ProductRules = {
  product: 'futures',
  prefix: '/fapi/v1',
  maxKlines: 1_500,
  klinesWeight: (limit) => (limit < 100 ? 1 : limit < 500 ? 2 : limit <= 1_000 ? 5 : 10),
  aggTradesWeight: 20,
  tradesWeight: 5,
  depthWeight: (limit) => (limit <= 50 ? 2 : limit <= 100 ? 5 : limit <= 500 ? 10 : 20),
  depthLimits: [5, 10, 20, 50, 100, 500, 1_000],
  maxDepth: 1_000,
  aggTradesKeptMs: DAY_MS,
}
