/** The venue's REST interface: markets, books, trades and candles, live and in the historical tier. */
import { SYMBOLS } from '../../../src/core/symbol.ts'
import { many, whole } from '../../server/json.ts'
import { createTokenBucket } from '../../server/limits.ts'
import {
  type Flaws,
  firstHalf,
  ok,
  otherSymbol,
  type RestReply,
  type RestService,
  withQuery,
} from '../../server/service.ts'
import { mapInSlices } from '../../server/slices.ts'
import type { RestRequest } from '../../server/transport.ts'
import { isInCatalogue, laggingBy, type PredictionVenue } from '../venue.ts'
import { LEVELS, type MarketTrade } from '../world/life.ts'
import { MOVED_BY_MS, type StrikeEvent, type StrikeMarket, type StrikeSeries } from '../world/strikes.ts'
import { isUnlisted } from '../world/unlisted.ts'
import { candlesOf, parseCandleQuery } from './candles.ts'
import {
  contracts,
  dollars,
  iso,
  listedCloseMs,
  marketJson,
  settledMsOf,
  slotAt,
  statusOf,
  tradeJson,
} from './payloads.ts'
import { refusalBody, type SignatureCheck } from './sign.ts'

export const ROOT = '/trade-api/v2'
const REQUEST_COST = 10
const MAX_ROWS = 1_000
const MAX_CANDLES = 5_000
const DAY_MS = 86_400_000
/** The sandbox retains a week; markets settled before the cutoff are only in the historical tier. */
const HISTORY_MS = 7 * DAY_MS
const LIVE_MS = 3 * DAY_MS
/** The latest close of a listed market: it runs for a day and is listed six hours before its open. */
const AHEAD_MS = 31 * 3_600_000

/** The filter uses other words than the answers. */
const STATUS_FILTERS: Record<string, readonly string[]> = {
  unopened: ['initialized'],
  open: ['active'],
  paused: ['inactive'],
  closed: ['closed', 'determined'],
  settled: ['finalized'],
}

type Handler = (query: URLSearchParams) => Promise<RestReply> | RestReply

export function createKalshiRest(
  venue: PredictionVenue,
  options: { check: SignatureCheck; tokensPerSecond: number },
): RestService {
  const { tokensPerSecond } = options
  const bucket = createTokenBucket({
    perSecond: tokensPerSecond,
    burst: tokensPerSecond * 2,
    now: venue.now,
  })
  const refuse = (status: number): RestReply => ({
    status,
    body:
      status === 429
        ? { error: 'too many requests' }
        : { error: { code: 'internal_server_error', message: 'internal server error' } },
  })

  function handle(
    { path, method, headers, query }: RestRequest,
    { lagMs, isPartial }: Flaws,
  ): Promise<RestReply> | RestReply {
    if (!path.startsWith(`${ROOT}/`)) return notFound()
    if (!bucket(REQUEST_COST)) return refuse(429)
    if (headers['kalshi-access-signature'] !== undefined) {
      const refusal = options.check(headers, method, path)
      if (refusal !== undefined) return { status: 401, body: refusalBody(refusal) }
    }
    const handler = route({ ...laggingBy(venue, lagMs), isPartial }, partsOf(path))
    return handler === undefined ? notFound() : handler(query)
  }

  return {
    venue: 'kalshi',
    name: 'rest',
    refuse,
    handle,
    cutsPages: true,
    duringMaintenance: ({ path }) =>
      partsOf(path).join('/') === 'exchange/status'
        ? ok({ exchange_active: false, exchange_estimated_resume_time: null, trading_active: false })
        : undefined,
    misread: (request, as) =>
      as === 'other-symbol' ? ofOtherSymbol(venue, request) : ofOtherTime(request, as),
    symbolOf({ path, query }) {
      const text = `${path} ${query.get('series_ticker') ?? ''} ${query.get('ticker') ?? ''}`
      return SYMBOLS.find((symbol) => text.includes(`KX${symbol}`))
    },
  }
}

const partsOf = (path: string): string[] => path.slice(ROOT.length + 1).split('/')

const TIMES = ['min_ts', 'max_ts', 'start_ts', 'end_ts', 'min_close_ts', 'max_close_ts']

const ofOtherTime = (request: RestRequest, { offsetMs }: { offsetMs: number }): RestRequest | undefined =>
  withQuery(request, TIMES, (text) => String(Math.max(0, Number(text) + Math.round(offsetMs / 1_000))))

/** Asks for another symbol. An order book does not say to which market it belongs. */
function ofOtherSymbol({ world }: PredictionVenue, request: RestRequest): RestRequest | undefined {
  const { strikes } = world
  const like = ({ kind, symbol }: StrikeSeries) =>
    strikes.series.find((one) => one.kind === kind && one.symbol === otherSymbol(symbol))
  const seriesLike = (ticker: string) => {
    const found = strikes.series.find((one) => one.ticker === ticker)
    return found === undefined ? undefined : like(found)?.ticker
  }
  const marketLike = (ticker: string) => {
    const event = strikes.market(ticker)?.event
    const other = event === undefined ? undefined : like(event.series)
    if (event === undefined || other === undefined) return undefined
    return strikes.between(other, event.closeMs - 1, event.closeMs)[0]?.markets[0]?.ticker
  }
  const [first, second, third, fourth, fifth] = partsOf(request.path)
  if (first === 'series' && fifth === 'candlesticks') {
    const [one, other] = [seriesLike(second ?? ''), marketLike(fourth ?? '')]
    if (one === undefined || other === undefined) return undefined
    return { ...request, path: [ROOT, first, one, third, other, fifth].join('/') }
  }
  return withQuery(request, ['series_ticker'], seriesLike) ?? withQuery(request, ['ticker'], marketLike)
}

/** The venue as one request sees it. */
interface SeenVenue extends PredictionVenue {
  /** The answer has half the rows, and a cursor after the last of them. */
  readonly isPartial: boolean
}

function route(venue: SeenVenue, parts: readonly string[]): Handler | undefined {
  const [first, second, third, fourth] = parts
  const isHistorical = first === 'historical'
  switch (parts.map((part, i) => (isName(parts, i) ? '*' : part)).join('/')) {
    case 'exchange/status':
      return () => ok({ exchange_active: true, exchange_estimated_resume_time: null, trading_active: true })
    case 'historical/cutoff': {
      const text = iso(Math.floor(cutoffMs(venue) / 1_000) * 1_000)
      return () => ok({ market_settled_ts: text, trades_created_ts: text, orders_updated_ts: text })
    }
    case 'markets':
    case 'historical/markets':
      return (query) => listMarkets(venue, query, isHistorical)
    case 'markets/trades':
    case 'historical/trades':
      return (query) => listTrades(venue, query, isHistorical)
    case 'markets/*/orderbook':
      return (query) => orderBook(venue, second ?? '', query)
    case 'series/*/markets/*/candlesticks':
      return (query) => candles(venue, { series: second, ticker: fourth ?? '' }, query)
    case 'historical/markets/*/candlesticks':
      return (query) => candles(venue, { series: undefined, ticker: third ?? '' }, query)
    default:
      return undefined
  }
}

/** Tickers in paths: after `series`, and after `markets` unless it is the list of trades. */
const isName = (parts: readonly string[], i: number): boolean =>
  parts[i - 1] === 'series' || (parts[i - 1] === 'markets' && parts[i] !== 'trades')

const fail = (status: number, code: string, message: string): RestReply => ({
  status,
  body: { error: { code, message, details: message, service: 'market-data' } },
})
const notFound = (): RestReply => fail(404, 'not_found', 'not found')

const cutoffMs = (venue: PredictionVenue): number => venue.now() - LIVE_MS
const isListed = (venue: PredictionVenue, event: StrikeEvent): boolean =>
  event.createdMs <= venue.now() && event.closeMs > venue.now() - HISTORY_MS
const isShown = (venue: PredictionVenue, { series, openMs }: StrikeEvent): boolean =>
  isInCatalogue(venue, 'kalshi', { symbol: series.symbol, beginsMs: openMs })
const isOld = (venue: PredictionVenue, event: StrikeEvent): boolean =>
  settledMsOf(venue, event) < cutoffMs(venue)

function findMarket(venue: PredictionVenue, ticker: string): StrikeMarket | undefined {
  const market = venue.world.strikes.market(ticker)
  return market !== undefined && isListed(venue, market.event) ? market : undefined
}

/** Listed events of one tier, ordered by close. */
function listEvents(venue: PredictionVenue, query: URLSearchParams, isHistorical: boolean): StrikeEvent[] {
  const { strikes } = venue.world
  const nowMs = venue.now()
  const status = query.get('status')
  // The historical tier accepts no time filters.
  const second = (name: string, fallback: number) =>
    query.has(name) && !isHistorical ? Number(query.get(name)) * 1_000 : fallback
  const oldestMs =
    status === 'open' || status === 'unopened'
      ? nowMs
      : nowMs - (isHistorical ? HISTORY_MS : LIVE_MS + 3_600_000)
  const fromMs = Math.max(second('min_close_ts', 0), oldestMs)
  const newestMs = isHistorical ? cutoffMs(venue) : nowMs + AHEAD_MS
  const toMs = Math.min(second('max_close_ts', Number.POSITIVE_INFINITY), newestMs)
  const series = query.get('series_ticker')
  return (
    strikes.series
      .filter((one) => series === null || one.ticker === series)
      // An event that is moved later is listed with its first close until then.
      .flatMap((one) => strikes.between(one, fromMs, toMs + MOVED_BY_MS))
      .filter((event) => listedCloseMs(venue, event) > fromMs && listedCloseMs(venue, event) <= toMs)
      .filter((event) => isListed(venue, event) && isOld(venue, event) === isHistorical)
      .filter((event) => isShown(venue, event))
      .filter((event) => status === null || (STATUS_FILTERS[status] ?? []).includes(statusOf(venue, event)))
      .sort((a, b) => a.closeMs - b.closeMs || (a.ticker < b.ticker ? -1 : 1))
  )
}

function listedMarkets(venue: PredictionVenue, { markets, unlisted }: StrikeEvent): readonly StrikeMarket[] {
  if (!isUnlisted(unlisted, venue.now())) return markets
  return unlisted?.isWhole === true ? [] : markets.slice(1)
}

/** A page after the cursor, which names the last row sent. */
function pageOf<T>(
  rows: readonly T[],
  { query, isPartial }: { query: URLSearchParams; isPartial: boolean },
  keyOf: (row: T) => string,
): { page: T[]; cursor: string } | undefined {
  const asked = Math.max(1, Math.min(MAX_ROWS, whole(query.get('limit'), 100)))
  const cursor = Buffer.from(query.get('cursor') ?? '', 'base64url').toString()
  const start = cursor === '' ? 0 : rows.findIndex((row) => keyOf(row) === cursor) + 1
  if (cursor !== '' && start === 0) return undefined
  const limit = isPartial ? Math.ceil(Math.min(asked, rows.length - start) / 2) : asked
  const page = rows.slice(start, start + limit)
  const last = page.at(-1)
  const isEnd = start + limit >= rows.length || last === undefined
  return { page, cursor: isEnd ? '' : Buffer.from(keyOf(last as T)).toString('base64url') }
}
const badCursor = (): RestReply => fail(400, 'invalid_parameters', 'invalid cursor')

async function listMarkets(
  venue: SeenVenue,
  query: URLSearchParams,
  isHistorical: boolean,
): Promise<RestReply> {
  const status = query.get('status')
  if (status !== null && !(status in STATUS_FILTERS)) return fail(400, 'invalid_parameters', 'invalid status')
  const tickers = many(query, 'tickers')
  const found =
    tickers.length > 0
      ? tickers
          .map((ticker) => findMarket(venue, ticker))
          .filter((market) => market !== undefined)
          .filter((market) => isShown(venue, market.event))
      : listEvents(venue, query, isHistorical).flatMap((event) => listedMarkets(venue, event))
  const result = pageOf(found, { query, isPartial: venue.isPartial }, (market) => market.ticker)
  if (result === undefined) return badCursor()
  const markets = await mapInSlices(result.page, (market) => marketJson(venue, market))
  return ok({ cursor: result.cursor, markets })
}

/** Newest first. */
function listTrades(venue: SeenVenue, query: URLSearchParams, isHistorical: boolean): RestReply {
  const market = findMarket(venue, query.get('ticker') ?? '')
  if (market === undefined || isOld(venue, market.event) !== isHistorical)
    return ok({ cursor: '', trades: [] })
  const minMs = whole(query.get('min_ts'), 0) * 1_000
  const maxMs = query.has('max_ts') ? Number(query.get('max_ts')) * 1_000 : venue.now()
  const life = venue.world.lifeOfStrike(market)
  const slot = slotAt(life, venue.now())
  const rows: MarketTrade[] = []
  for (let index = slot === undefined ? -1 : life.tradesUntil(slot) - 1; index >= 0; index--) {
    const trade = life.trade(index)
    if (trade === undefined || trade.timeMs < minMs) break
    if (trade.timeMs <= maxMs) rows.push(trade)
  }
  const result = pageOf(
    rows,
    { query, isPartial: venue.isPartial },
    (trade) => `${market.ticker}|${trade.slot}`,
  )
  return result === undefined
    ? badCursor()
    : ok({ cursor: result.cursor, trades: result.page.map((trade) => tradeJson(market, trade)) })
}

function orderBook(venue: PredictionVenue, ticker: string, query: URLSearchParams): RestReply {
  const market = findMarket(venue, ticker)
  if (market === undefined || isOld(venue, market.event)) return notFound()
  const depth = Math.min(100, whole(query.get('depth'), 0))
  const life = venue.world.lifeOfStrike(market)
  const slot = ['active', 'inactive'].includes(statusOf(venue, market.event))
    ? slotAt(life, venue.now())
    : undefined
  const [bids, asks] = [new Int32Array(LEVELS), new Int32Array(LEVELS)]
  if (slot !== undefined) life.fill(slot, bids, asks)
  const yes: [string, string][] = []
  const no: [string, string][] = []
  for (let price = 1; price < 1_000; price++) {
    if (bids[price] !== 0) yes.push([dollars(price), contracts(bids[price] as number)])
    if (asks[1_000 - price] !== 0) no.push([dollars(price), contracts(asks[1_000 - price] as number)])
  }
  const best = (levels: [string, string][]) => (depth === 0 ? levels : levels.slice(-depth))
  return ok({ orderbook_fp: { yes_dollars: best(yes), no_dollars: best(no) } })
}

/** Without a series: candles of the historical tier. */
function candles(
  venue: SeenVenue,
  { series, ticker }: { series: string | undefined; ticker: string },
  query: URLSearchParams,
): RestReply {
  const asked = parseCandleQuery(query)
  if (asked === undefined) return fail(400, 'invalid_parameters', 'invalid time range or period')
  const isHistorical = series === undefined
  const market = findMarket(venue, ticker)
  if (market === undefined || isOld(venue, market.event) !== isHistorical) return notFound()
  if (!isHistorical && market.event.series.ticker !== series) return notFound()
  if ((asked.toMs - asked.fromMs) / (asked.period * 60_000) > MAX_CANDLES)
    return fail(400, 'invalid_parameters', 'too many candlesticks requested')
  const life = venue.world.lifeOfStrike(market)
  const rows = candlesOf(market, life, asked, { nowMs: venue.now(), isHistorical })
  return ok({ ticker: market.ticker, candlesticks: venue.isPartial ? firstHalf(rows) : rows })
}
