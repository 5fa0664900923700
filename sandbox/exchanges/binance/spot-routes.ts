/** Routes of the spot product beyond the shared ones. */
import { fixed } from '../world/fixed.ts'
import type { MarketWorld, World } from '../world/world.ts'
import { BinanceError, integerFrom, limitFrom, marketFrom } from './query.ts'
import type { RestLimits, Route } from './rest.ts'
import { tradeRows } from './text.ts'

export function spotRoutes(world: World, limits: RestLimits): Record<string, Route> {
  return {
    '/api/v3/exchangeInfo': {
      weight: () => 20,
      handle: (query, nowMs) => {
        const entries = askedSymbols(world, query)
        return JSON.stringify({
          timezone: 'UTC',
          serverTime: nowMs,
          rateLimits: [
            {
              rateLimitType: 'REQUEST_WEIGHT',
              interval: 'MINUTE',
              intervalNum: 1,
              limit: limits.weightPerMinute,
            },
            { rateLimitType: 'ORDERS', interval: 'SECOND', intervalNum: 10, limit: 100 },
            { rateLimitType: 'ORDERS', interval: 'DAY', intervalNum: 1, limit: 200_000 },
            { rateLimitType: 'RAW_REQUESTS', interval: 'MINUTE', intervalNum: 5, limit: 300_000 },
          ],
          exchangeFilters: [],
          symbols: entries.map(symbolInfo),
        })
      },
    },
    '/api/v3/historicalTrades': {
      weight: () => 25,
      handle: (query, nowMs) => {
        const { market, tape } = marketFrom(world, 'spot', query)
        const limit = limitFrom('spot', query, 500, 1_000)
        const fromFill = integerFrom(query, 'fromId')
        const endMs = nowMs + 1
        if (fromFill === undefined) {
          const newest = tape.fromId(tape.firstIdAt(endMs) - limit, endMs, limit)
          return `[${newest
            .flatMap((trade) => tradeRows(market, trade))
            .slice(-limit)
            .join(',')}]`
        }
        const rows: string[] = []
        for (let id = tradeOfFill(fromFill, tape, nowMs); rows.length < limit; ) {
          const trades = tape.fromId(id, endMs, limit)
          for (const trade of trades) {
            const fills = tradeRows(market, trade)
            rows.push(...fills.slice(Math.max(0, fromFill - trade.firstFill)))
          }
          const last = trades.at(-1)
          if (last === undefined || trades.length < limit) break
          id = last.id + 1
        }
        return `[${rows.slice(0, limit).join(',')}]`
      },
    },
  }
}

/** The aggregate that holds a raw fill: fills grow with aggregates, so a binary search finds it. */
function tradeOfFill(fill: number, tape: MarketWorld['tape'], nowMs: number): number {
  let low = tape.firstIdAt(0)
  let high = tape.firstIdAt(nowMs + 1)
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const trade = tape.fromId(middle, nowMs + 1, 1)[0]
    if (trade !== undefined && trade.lastFill < fill) low = middle + 1
    else high = middle
  }
  return low
}

function askedSymbols(world: World, query: URLSearchParams): readonly MarketWorld[] {
  if (query.has('symbol')) return [marketFrom(world, 'spot', query)]
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

function symbolInfo({ market }: MarketWorld): unknown {
  const tick = fixed(1, market.priceDecimals, 8)
  const step = fixed(1, market.sizeDecimals, 8)
  return {
    symbol: market.name,
    status: 'TRADING',
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
