/** Polymarket's REST side: books, prints of a market, midpoints of a token, markets of the past. */
import type { MarketType } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { askTyped, readRows } from '../ask-typed.ts'
import { notProvided, rangeOrNull } from '../history-range.ts'
import type { MidObservation, TradeObservation } from '../observation.ts'
import { VenueError } from '../pager.ts'
import type { HistoryPage, HistoryRequest, TimeRange } from '../venue.ts'
import { listSeries, type PolymarketAskers } from './catalogue.ts'
import {
  type Leg,
  mapMarket,
  mapMid,
  mapSweptTrade,
  marketObservation,
  tradeId,
  type UpDownMarket,
} from './mapper.ts'
import { seriesOf } from './slug.ts'
import {
  BookMessage,
  type BookWire,
  GammaMarket,
  GammaMarkets,
  MidHistory,
  MidV2,
  RowsV1,
  RowsV2,
  TradeV1,
  type TradeV1Wire,
  TradeV2,
  type TradeV2Wire,
} from './wire.ts'

const TRADES_PER_PAGE = 1_000
/** The first version of the data interface goes no deeper. */
const DEEPEST_OFFSET = 10_000
const MARKETS_WINDOW_MS: Record<MarketType, number> = {
  '5m': 6 * 3_600_000,
  '15m': 24 * 3_600_000,
  '1h': 3 * 24 * 3_600_000,
  '4h': 12 * 24 * 3_600_000,
  '24h': 60 * 24 * 3_600_000,
}
/** Prints are published some seconds after their block. */
const SETTLE_MS = 30_000
const MIDS_WINDOW_MS = 7 * 24 * 3_600_000

export interface PolymarketRest extends PolymarketAskers {
  now(): number
  /** Which version of the data interface is asked. */
  readonly dataVersion: 'v1' | 'v2'
}

export async function askBook(
  rest: Pick<PolymarketRest, 'clob'>,
  tokenId: string,
  signal: AbortSignal,
): Promise<{ book: BookWire; receivedMs: number }> {
  const question = { path: '/book', query: { token_id: tokenId }, weight: 1 }
  const { value, answer } = await askTyped(rest.clob, question, BookMessage, signal)
  return { book: value, receivedMs: answer.receivedMs }
}

/**
 * The prints of some markets, oldest first, with the names that the stream gives them. The venue lists the newest
 * first, so one who knows what was before an instant reads no further.
 */
export async function askTrades(
  rest: PolymarketRest,
  markets: readonly UpDownMarket[],
  signal: AbortSignal,
  sinceMs = 0,
): Promise<TradeObservation[]> {
  const marketIds = markets.map(({ market }) => market.marketId)
  const sinceS = Math.floor(sinceMs / 1_000)
  const listed =
    rest.dataVersion === 'v2'
      ? await askTradesV2(rest, marketIds, sinceS, signal)
      : await askTradesV1(rest, marketIds, sinceS, signal)
  const legs = new Map(markets.flatMap((market) => market.legs.map((leg) => [leg.tokenId, leg] as const)))
  const places = new Map<string, number>()
  const receivedMs = rest.now()
  // Within a transaction by facts that every answer agrees on; a transaction has one time, so none is cut in two.
  const ordered = listed
    .filter(({ timestamp }) => timestamp >= sinceS)
    .sort((a, b) => a.timestamp - b.timestamp || compareText(factsOf(a), factsOf(b)))
  return ordered.flatMap((row) => {
    const leg = legs.get(row.token_id)
    if (leg === undefined) return []
    const group = `${row.transaction_hash}:${row.token_id}`
    const place = places.get(group) ?? 0
    places.set(group, place + 1)
    return [mapSweptTrade(row, tradeId(row.transaction_hash, row.token_id, place), leg, receivedMs)]
  })
}

const factsOf = (row: TradeV2Wire) =>
  [row.transaction_hash, row.token_id, row.price, row.size, row.proxy_wallet ?? ''].join()
const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

async function askTradesV2(
  rest: PolymarketRest,
  marketIds: readonly string[],
  sinceS: number,
  signal: AbortSignal,
): Promise<TradeV2Wire[]> {
  const found: TradeV2Wire[] = []
  let cursor: string | undefined
  do {
    const query = { condition: marketIds.join(), limit: TRADES_PER_PAGE, taker_only: 'true', cursor }
    const question = { path: '/v2/trades', query, weight: 1 }
    const { value, answer } = await askTyped(rest.data, question, RowsV2, signal)
    const about = { origin: question.path, receivedMs: answer.receivedMs }
    found.push(...readRows(rest.data, value.data, TradeV2, about))
    const isKnown = (found.at(-1)?.timestamp ?? sinceS) < sinceS
    const more = value.pagination?.has_more !== false && !isKnown
    cursor = more ? value.pagination?.next_cursor || undefined : undefined
  } while (cursor !== undefined)
  return found
}

/** The first version takes one market at a time. */
async function askTradesV1(
  rest: PolymarketRest,
  marketIds: readonly string[],
  sinceS: number,
  signal: AbortSignal,
): Promise<TradeV2Wire[]> {
  const found: TradeV2Wire[] = []
  for (const marketId of marketIds) {
    for (let offset = 0; offset < DEEPEST_OFFSET; ) {
      const query = { market: marketId, limit: TRADES_PER_PAGE, offset, takerOnly: 'true' }
      const question = { path: '/trades', query, weight: 1 }
      const { value, answer } = await askTyped(rest.data, question, RowsV1, signal)
      const about = { origin: question.path, receivedMs: answer.receivedMs }
      const rows = readRows(rest.data, value, TradeV1, about).map(asV2)
      found.push(...rows)
      if (value.length === 0 || (rows.at(-1)?.timestamp ?? sinceS) < sinceS) break
      offset += value.length
    }
  }
  return found
}

function asV2(row: TradeV1Wire): TradeV2Wire {
  const { asset, conditionId, transactionHash, proxyWallet, ...same } = row
  return {
    ...same,
    token_id: asset,
    condition_id: conditionId,
    transaction_hash: transactionHash,
    proxy_wallet: proxyWallet ?? null,
  }
}

/** A market by its condition id, open or closed. */
export async function askMarket(
  rest: PolymarketRest,
  marketId: string,
  signal: AbortSignal,
): Promise<UpDownMarket | undefined> {
  for (const closed of ['true', 'false']) {
    const query = { condition_ids: [marketId.toLowerCase()], closed }
    const question = { path: '/markets', query, weight: 1 }
    const { value, answer } = await askTyped(rest.gamma, question, GammaMarkets, signal)
    const about = { origin: question.path, receivedMs: answer.receivedMs }
    for (const row of readRows(rest.gamma, value, GammaMarket, about)) {
      if (row.conditionId.toLowerCase() === marketId.toLowerCase()) return mapMarket(row, rest.now())
    }
  }
  return undefined
}

export async function* walkHistory(
  rest: PolymarketRest,
  request: HistoryRequest,
  knownMarket: (marketId: string) => UpDownMarket | undefined,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  const { dataset, range } = request
  if (dataset === 'markets') return yield* walkMarkets(rest, request.symbol, range, signal)
  if (dataset !== 'trades' && dataset !== 'mids') return yield notProvided(range)
  const [marketId = '', outcome] = (request.market ?? '').split('#')
  if (marketId === '') throw new RangeError(`polymarket: the history of ${dataset} needs a market`)
  const known = knownMarket(marketId)
  const hasLegs = known !== undefined && known.legs.length > 0
  const market = hasLegs ? known : await askMarket(rest, marketId, signal)
  if (market === undefined) throw new VenueError(`polymarket knows no market ${marketId}`, { isFinal: true })
  // Listed without its tokens, as happens just after its creation: nothing can be said of it yet.
  if (market.legs.length === 0) return yield { observations: [], covered: null, missing: [] }
  if (dataset === 'trades') return yield* walkTrades(rest, market, range, signal)
  for (const leg of market.legs) {
    if (outcome === undefined || leg.outcome === outcome) yield* walkMids(rest, leg, range, signal)
  }
}

/** One page: the venue takes no time range here, and a market's prints are few. */
async function* walkTrades(
  rest: PolymarketRest,
  market: UpDownMarket,
  range: TimeRange,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  const askedMs = rest.now()
  const trades = await askTrades(rest, [market], signal, range.fromMs)
  const observations = trades.filter(({ venueTimeMs: at }) => at >= range.fromMs && at < range.toMs)
  const covered = rangeOrNull(range.fromMs, Math.min(range.toMs, askedMs - SETTLE_MS))
  yield { observations, covered, missing: [] }
}

/** By the end of the markets' windows, one series after the other within each span of time. */
async function* walkMarkets(
  rest: PolymarketRest,
  symbol: AssetSymbol,
  range: TimeRange,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  const spanMs = MARKETS_WINDOW_MS['15m']
  for (let fromMs = range.fromMs; fromMs < range.toMs; fromMs += spanMs) {
    const span = { fromMs, toMs: Math.min(range.toMs, fromMs + spanMs) }
    const observations: HistoryPage['observations'][number][] = []
    for (const series of seriesOf(symbol)) {
      const stepMs = MARKETS_WINDOW_MS[series.marketType]
      for (let partMs = span.fromMs; partMs < span.toMs; partMs += stepMs) {
        const part = { fromMs: partMs, toMs: Math.min(span.toMs, partMs + stepMs) }
        for (const closed of [true, false]) {
          const options = { range: part, closed, nowMs: rest.now(), signal }
          const { found, receivedMs } = await listSeries(rest, series, options)
          observations.push(...found.map(({ market }) => marketObservation(market, receivedMs)))
        }
      }
    }
    yield { observations, covered: span, missing: [] }
  }
}

async function* walkMids(
  rest: PolymarketRest,
  leg: Leg,
  range: TimeRange,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  for (let fromMs = range.fromMs; fromMs < range.toMs; fromMs += MIDS_WINDOW_MS) {
    const window = { fromMs, toMs: Math.min(range.toMs, fromMs + MIDS_WINDOW_MS) }
    const found = await askMids(rest, leg, window, signal)
    const observations = found.filter(({ venueTimeMs: at }) => at >= window.fromMs && at < window.toMs)
    yield { observations, covered: window, missing: [] }
  }
}

async function askMids(
  rest: PolymarketRest,
  leg: Leg,
  window: TimeRange,
  signal: AbortSignal,
): Promise<MidObservation[]> {
  const start = Math.floor(window.fromMs / 1_000)
  const end = Math.ceil(window.toMs / 1_000)
  if (rest.dataVersion === 'v2') {
    const query = { token_id: leg.tokenId, start, end, bucket_seconds: 60, limit: 10_000 }
    const question = { path: '/v2/prices-history', query, weight: 1 }
    const { value, answer } = await askTyped(rest.data, question, RowsV2, signal)
    const { receivedMs } = answer
    return (
      readRows(rest.data, value.data, MidV2, { origin: question.path, receivedMs })
        // The last point of a resolved market is its settlement, not a price.
        .filter((row) => row.resolution_seconds !== 0)
        .map((row) => mapMid(row.timestamp, row.price, leg, receivedMs))
    )
  }
  // The parameter is called market and takes the token.
  const query = { market: leg.tokenId, startTs: start, endTs: end, fidelity: 1 }
  const question = { path: '/prices-history', query, weight: 1 }
  const { value, answer } = await askTyped(rest.clob, question, MidHistory, signal)
  return value.history.map(({ t, p }) => mapMid(t, p, leg, answer.receivedMs))
}
