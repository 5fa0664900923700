/** The venue's REST interface: series, events, markets, books, trades, candles and the historical tier. */
import { SYMBOLS } from '../../../src/core/symbol.ts'
import { mapInSlices } from '../../exchanges/server/slices.ts'
import { createTokenBucket } from '../server/budget.ts'
import { ok, type Reply, type Request, type Service } from '../server/http.ts'
import { many, whole } from '../server/query.ts'
import type { StrikeMarket } from '../world/strikes.ts'
import { createCandleRoutes } from './candle-routes.ts'
import { createCatalogue, fail, notFound, STATUS_FILTERS } from './catalogue.ts'
import { type createSignatureCheck, refusalBody } from './sign.ts'
import { contracts, dollars, iso } from './text.ts'
import { eventJson, marketJson, seriesJson, slotAt, statusOf, tradeJson, type Venue } from './view.ts'

export const ROOT = '/trade-api/v2'
const REQUEST_COST = 10
const LEVELS = 1_001

export function createKalshiRest(
  venue: Venue,
  options: { check: ReturnType<typeof createSignatureCheck>; tokensPerSecond: number },
): Service {
  const { strikes } = venue.world
  const bucket = createTokenBucket({
    perSecond: options.tokensPerSecond,
    burst: options.tokensPerSecond * 2,
    now: venue.now,
  })
  const refuse = (status: number): Reply => ({
    status,
    body:
      status === 429
        ? { error: 'too many requests' }
        : { error: { code: 'internal_server_error', message: 'internal server error' } },
  })

  const catalogue = createCatalogue(venue)
  const { cutoffMs, isListed, isHistorical, events, findMarket } = catalogue
  const candleRoutes = createCandleRoutes(venue, catalogue)

  /** A page after the cursor, which names the last row told. */
  function paged<T>(
    rows: readonly T[],
    query: URLSearchParams,
    max: number,
    keyOf: (row: T) => string,
  ): { page: T[]; cursor: string } | undefined {
    const limit = Math.max(1, Math.min(max, whole(query.get('limit'), 100)))
    const cursor = Buffer.from(query.get('cursor') ?? '', 'base64url').toString()
    const start = cursor === '' ? 0 : rows.findIndex((row) => keyOf(row) === cursor) + 1
    if (cursor !== '' && start === 0) return undefined
    const page = rows.slice(start, start + limit)
    const last = page.at(-1)
    const isEnd = start + limit >= rows.length || last === undefined
    return { page, cursor: isEnd ? '' : Buffer.from(keyOf(last as T)).toString('base64url') }
  }
  const badCursor = (): Reply => fail(400, 'invalid_parameters', 'invalid cursor')

  async function listMarkets(query: URLSearchParams, historical: boolean): Promise<Reply> {
    const status = query.get('status')
    if (status !== null && !(status in STATUS_FILTERS))
      return fail(400, 'invalid_parameters', 'invalid status')
    const tickers = many(query, 'tickers')
    const found =
      tickers.length > 0
        ? tickers.map(findMarket).filter((market) => market !== undefined)
        : events(query, historical).flatMap((event) => event.markets)
    const result = paged(found, query, 1_000, (market) => market.ticker)
    if (result === undefined) return badCursor()
    return ok({
      cursor: result.cursor,
      markets: await mapInSlices(result.page, (market) => marketJson(venue, market)),
    })
  }

  async function listEvents(query: URLSearchParams): Promise<Reply> {
    const result = paged(events(query, false), query, 200, (event) => event.ticker)
    if (result === undefined) return badCursor()
    const isNested = query.get('with_nested_markets') === 'true'
    const rows = await mapInSlices(result.page, (event) => ({
      ...eventJson(event),
      ...(isNested ? { markets: event.markets.map((market) => marketJson(venue, market)) } : {}),
    }))
    return ok({ cursor: result.cursor, events: rows, milestones: [] })
  }

  function bookJson(market: StrikeMarket, depth: number): Record<string, unknown> {
    const life = venue.world.lifeOfStrike(market)
    const slot = statusOf(venue, market.event) === 'active' ? slotAt(life, venue.now()) : undefined
    const [bids, asks] = [new Int32Array(LEVELS), new Int32Array(LEVELS)]
    if (slot !== undefined) life.fill(slot, bids, asks)
    const yes: string[][] = []
    const no: string[][] = []
    for (let price = 1; price < 1_000; price++) {
      if (bids[price] !== 0) yes.push([dollars(price), contracts(bids[price] as number)])
      if (asks[1_000 - price] !== 0) no.push([dollars(price), contracts(asks[1_000 - price] as number)])
    }
    const best = (levels: string[][]) => (depth === 0 ? levels : levels.slice(-depth))
    return { yes_dollars: best(yes), no_dollars: best(no) }
  }

  function trades(query: URLSearchParams, historical: boolean): Reply {
    const ticker = query.get('ticker')
    const market = ticker === null ? undefined : findMarket(ticker)
    if (ticker !== null && market === undefined) return ok({ cursor: '', trades: [] })
    const [minMs, maxMs] = [
      whole(query.get('min_ts'), 0) * 1_000,
      query.has('max_ts') ? Number(query.get('max_ts')) * 1_000 : venue.now(),
    ]
    const markets =
      market !== undefined
        ? [market]
        : events(new URLSearchParams({ status: 'open' }), historical).flatMap((event) => event.markets)
    const rows = markets
      .filter((one) => isHistorical(one) === historical)
      .flatMap((one) => {
        const life = venue.world.lifeOfStrike(one)
        const slot = slotAt(life, venue.now())
        const prints = slot === undefined ? [] : life.prints.slice(0, life.printsUntil(slot))
        return prints
          .filter((print) => print.timeMs >= minMs && print.timeMs <= maxMs)
          .map((print) => ({ one, print }))
      })
      .sort((a, b) => b.print.timeMs - a.print.timeMs)
    const isBlock = query.get('is_block_trade') === 'true'
    const result = paged(isBlock ? [] : rows, query, 1_000, (row) => `${row.one.ticker}|${row.print.slot}`)
    return result === undefined
      ? badCursor()
      : ok({ cursor: result.cursor, trades: result.page.map((row) => tradeJson(row.one, row.print)) })
  }

  function marketRoutes([, second, third]: readonly string[], request: Request): Promise<Reply> | Reply {
    const { query } = request
    if (second === undefined) return listMarkets(query, false)
    if (second === 'trades') return trades(query, false)
    if (second === 'orderbooks') {
      const refusal = options.check(request.headers, request.method, request.path)
      if (refusal !== undefined) return { status: 401, body: refusalBody(refusal) }
      const found = many(query, 'tickers')
        .slice(0, 100)
        .map(findMarket)
        .filter((market) => market !== undefined)
      return ok({
        orderbooks: found.map((market) => ({ ticker: market.ticker, orderbook_fp: bookJson(market, 0) })),
      })
    }
    const market = findMarket(second)
    if (market === undefined || isHistorical(market)) return notFound()
    if (third === undefined) return ok({ market: marketJson(venue, market) })
    if (third === 'orderbook')
      return ok({ orderbook_fp: bookJson(market, Math.min(100, whole(query.get('depth'), 0))) })
    return notFound()
  }

  function eventRoutes([, second, third]: readonly string[], query: URLSearchParams): Promise<Reply> | Reply {
    if (second === undefined) return listEvents(query)
    const event = strikes.event(second)
    if (event === undefined || !isListed(event)) return notFound()
    if (third === 'metadata')
      return ok({
        image_url: '',
        featured_image_url: '',
        market_details: event.markets.map((market) => ({
          market_ticker: market.ticker,
          image_url: '',
          color_code: '#AA00FF',
        })),
        settlement_sources: seriesJson(event.series).settlement_sources,
      })
    const markets = event.markets.map((market) => marketJson(venue, market))
    return ok(
      query.get('with_nested_markets') === 'true'
        ? { event: { ...eventJson(event), markets } }
        : { event: eventJson(event), markets },
    )
  }

  function seriesRoutes(parts: readonly string[], query: URLSearchParams): Reply {
    if (parts[4] === 'candlesticks')
      return candleRoutes(parts[2] === 'events' ? parts.slice(2) : parts, query)
    const category = query.get('category')
    if (parts[1] === undefined)
      return ok({
        series: category === null || category === 'Crypto' ? strikes.series.map(seriesJson) : null,
      })
    const one = strikes.series.find((series) => series.ticker === parts[1])
    return one === undefined ? notFound() : ok({ series: seriesJson(one) })
  }

  function historicalRoutes(parts: readonly string[], query: URLSearchParams): Promise<Reply> | Reply {
    const [, second, third, fourth] = parts
    if (second === 'cutoff') {
      const text = iso(Math.floor(cutoffMs() / 1_000) * 1_000)
      return ok({ market_settled_ts: text, trades_created_ts: text, orders_updated_ts: text })
    }
    if (second === 'trades') return trades(query, true)
    if (second !== 'markets') return notFound()
    if (third === undefined) return listMarkets(query, true)
    if (fourth === 'candlesticks') return candleRoutes(['historical', 'markets', third], query)
    const market = findMarket(third)
    return market === undefined || !isHistorical(market)
      ? notFound()
      : ok({ market: marketJson(venue, market) })
  }

  function handle(request: Request): Promise<Reply> | Reply {
    if (!request.path.startsWith(`${ROOT}/`)) return notFound()
    if (!bucket(REQUEST_COST)) return refuse(429)
    if (request.headers['kalshi-access-signature'] !== undefined) {
      const refusal = options.check(request.headers, request.method, request.path)
      if (refusal !== undefined) return { status: 401, body: refusalBody(refusal) }
    }
    const { query } = request
    const parts = request.path.slice(ROOT.length + 1).split('/')
    if (parts.at(-1) === 'candlesticks' && parts[0] !== 'series' && parts[0] !== 'historical')
      return candleRoutes(parts, query)
    switch (parts[0]) {
      case 'series':
        return seriesRoutes(parts, query)
      case 'events':
        return eventRoutes(parts, query)
      case 'markets':
        return marketRoutes(parts, request)
      case 'historical':
        return historicalRoutes(parts, query)
      case 'exchange':
        return exchangeRoutes(parts[1])
      case 'account':
        return ok({ default_cost: REQUEST_COST, endpoint_costs: [] })
      default:
        return notFound()
    }
  }

  return {
    venue: 'kalshi',
    name: 'rest',
    refuse,
    handle,
    symbolOf({ path, query }) {
      const text = `${path} ${query.get('series_ticker') ?? ''} ${query.get('ticker') ?? ''} ${query.get('event_ticker') ?? ''}`
      return SYMBOLS.find((symbol) => text.includes(`KX${symbol}`))
    },
  }
}

function exchangeRoutes(what: string | undefined): Reply {
  if (what === 'status')
    return ok({ exchange_active: true, exchange_estimated_resume_time: null, trading_active: true })
  if (what !== 'schedule') return notFound()
  const hours = [{ open_time: '00:00', close_time: '00:00' }]
  const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'].map((day) => [
    day,
    hours,
  ])
  return ok({
    schedule: {
      maintenance_windows: [],
      standard_hours: [
        { start_time: '2024-12-01T00:00:00Z', end_time: '2200-12-01T00:00:00Z', ...Object.fromEntries(days) },
      ],
    },
  })
}
