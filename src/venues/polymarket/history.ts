/** Polymarket's REST side: books, trades of a market, midpoints of a token, markets of the past. */
import type { MarketType } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { MidObservation, TradeObservation } from '../observation.ts'
import { createCursorTrail } from '../rest/cursor-trail.ts'
import { expectFit, misfit } from '../rest/expect-fit.ts'
import { notProvided, rangeOrNull, splitByAge } from '../rest/history-range.ts'
import { type RestResponse, VenueError } from '../rest/rest-client.ts'
import { readEveryRow, readRows, requestTyped } from '../rest/typed-request.ts'
import type { HistoryPage, HistoryRange, HistoryRequest } from '../venue.ts'
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
  MidV2,
  RowsV1,
  RowsV2,
  type RowsV2Wire,
  TradeV1,
  type TradeV1Wire,
  TradeV2,
  type TradeV2Wire,
} from './wire.ts'

const TRADES_PER_PAGE = 1_000
/** The first version of the data interface goes no deeper; some of its answers refuse from 3,000 on. */
const DEEPEST_OFFSET = 10_000
const MARKETS_WINDOW_MS: Record<MarketType, number> = {
  '5m': 6 * 3_600_000,
  '15m': 24 * 3_600_000,
  '1h': 3 * 24 * 3_600_000,
  '4h': 12 * 24 * 3_600_000,
  '24h': 60 * 24 * 3_600_000,
}
/** Before the venue began, and after our clock by more than it can be wrong: another unit of time. */
const FIRST_TRADE_MS = Date.UTC(2020, 0, 1)
const MAX_AHEAD_MS = 24 * 3_600_000
/** Markets are listed, and may be traded, some days before their window. */
const LISTED_BEFORE_MS = 14 * 24 * 3_600_000
/** Trades are published some seconds after their block. */
const SETTLE_MS = 30_000
const MID_SECONDS = 60
const MIDS_PER_PAGE = 10_000
const MIDS_WINDOW_MS = 24 * 3_600_000
const MIDS_MARGIN_MS = 3_600_000
const MIDS_KEPT_MS = 7 * 24 * 3_600_000

export interface PolymarketRest extends PolymarketAskers {
  now(): number
  /** Which version of the data interface is used. */
  readonly dataVersion: 'v1' | 'v2'
}

export async function askBook(
  rest: Pick<PolymarketRest, 'clob'>,
  tokenId: string,
  signal: AbortSignal,
): Promise<{ book: BookWire; receivedMs: number }> {
  const question = { path: '/book', query: { token_id: tokenId }, weight: 1 }
  const { value, answer } = await requestTyped(rest.clob, question, BookMessage, signal)
  if (value.asset_id !== tokenId)
    throw misfit(`of ${value.asset_id}, asked for ${tokenId}`, question.path, answer, rest.clob.deadLetters)
  return { book: value, receivedMs: answer.receivedMs }
}

export interface AskedTrades {
  readonly trades: TradeObservation[]
  /** From here on none is missing. */
  readonly wholeFromMs: number
}

/**
 * The trades of some markets, oldest first, with the ids that the stream gives them. The venue lists the newest first,
 * so a caller that knows everything before an instant reads no further.
 */
export async function askTrades(
  rest: PolymarketRest,
  markets: readonly UpDownMarket[],
  signal: AbortSignal,
  sinceMs = 0,
): Promise<AskedTrades> {
  const asked: AskedMarkets = {
    ids: markets.map(({ market }) => market.marketId),
    tokens: new Set(markets.flatMap(({ legs }) => legs.map(({ tokenId }) => tokenId))),
    fromMs: Math.min(...markets.map(({ market }) => market.startTime ?? FIRST_TRADE_MS)) - LISTED_BEFORE_MS,
  }
  const sinceS = Math.floor(sinceMs / 1_000)
  const { listed, wholeFromS } =
    rest.dataVersion === 'v2'
      ? await askTradesV2(rest, asked, sinceS, signal)
      : await askTradesV1(rest, asked, sinceS, signal)
  const legs = new Map(markets.flatMap((market) => market.legs.map((leg) => [leg.tokenId, leg] as const)))
  const receivedMs = rest.now()
  // A transaction has one time, so none is cut in two.
  const recent = listed.filter(({ timestamp }) => timestamp >= sinceS)
  const ids = idsOf(recent)
  // Trades of one second stay in the venue's order: the first of them may open a candle, the last one close it.
  const trades = recent
    .toReversed()
    .sort((a, b) => a.timestamp - b.timestamp)
    .flatMap((row) => {
      const leg = legs.get(row.token_id)
      return leg === undefined ? [] : [mapSweptTrade(row, ids.get(row) ?? '', leg, receivedMs)]
    })
  return { trades, wholeFromMs: wholeFromS * 1_000 }
}

/** Places within a transaction follow facts that every answer agrees on, whatever the order of its rows. */
function idsOf(rows: readonly TradeV2Wire[]): Map<TradeV2Wire, string> {
  const places = new Map<string, number>()
  const ids = new Map<TradeV2Wire, string>()
  for (const row of rows.toSorted(
    (a, b) => a.timestamp - b.timestamp || compareText(factsOf(a), factsOf(b)),
  )) {
    const group = `${row.transaction_hash}:${row.token_id}`
    const place = places.get(group) ?? 0
    places.set(group, place + 1)
    ids.set(row, tradeId(row.transaction_hash, row.token_id, place))
  }
  return ids
}

interface Listed {
  readonly listed: TradeV2Wire[]
  readonly wholeFromS: number
}

const factsOf = (row: TradeV2Wire) =>
  [row.transaction_hash, row.token_id, row.price, row.size, row.proxy_wallet ?? ''].join()
const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

interface AskedMarkets {
  readonly ids: readonly string[]
  readonly tokens: ReadonlySet<string>
  /** None of them can have been traded before. */
  readonly fromMs: number
}

async function askTradesV2(
  rest: PolymarketRest,
  asked: AskedMarkets,
  sinceS: number,
  signal: AbortSignal,
): Promise<Listed> {
  const found: TradeV2Wire[] = []
  const nextCursor = createCursorTrail('/v2/trades', rest.data.deadLetters)
  let cursor: string | undefined
  do {
    const query = { condition: asked.ids.join(), limit: TRADES_PER_PAGE, taker_only: 'true', cursor }
    const question = { path: '/v2/trades', query, weight: 1 }
    const { value, answer } = await requestTyped(rest.data, question, RowsV2, signal)
    const about = { origin: question.path, receivedMs: answer.receivedMs }
    const rows = readEveryRow(rest.data, value.data, TradeV2, about)
    expectTrades(rest, rows, asked, found.at(-1), question.path, answer)
    if (repeatedRows(found, rows) > 0)
      throw misfit('rows of the page before it', question.path, answer, rest.data.deadLetters)
    found.push(...rows)
    const isKnown = (found.at(-1)?.timestamp ?? sinceS) < sinceS
    const more = value.pagination?.has_more !== false && !isKnown
    const isCut = value.pagination == null && rows.length >= TRADES_PER_PAGE
    if (!isKnown) expectNextPage(rest, value, isCut, question.path, answer)
    cursor = nextCursor(more ? value.pagination?.next_cursor : undefined, answer)
  } while (cursor !== undefined)
  return { listed: found, wholeFromS: sinceS }
}

/** There is more, by the answer's own word or because its page is full: without a cursor the rest would be missing. */
function expectNextPage(
  rest: PolymarketRest,
  { pagination }: RowsV2Wire,
  isCut: boolean,
  origin: string,
  answer: RestResponse,
): void {
  if ((isCut || pagination?.has_more === true) && !pagination?.next_cursor)
    throw misfit('more rows, and no cursor to them', origin, answer, rest.data.deadLetters)
}

/** How many rows at the beginning of a page are those at the end of the pages before it. */
function repeatedRows(before: readonly TradeV2Wire[], rows: readonly TradeV2Wire[]): number {
  const [old, young] = [before.slice(-rows.length), rows].map((list) =>
    list.map((row) => `${row.timestamp},${row.side},${factsOf(row)}`),
  ) as [string[], string[]]
  for (let count = Math.min(old.length, young.length); count > 0; count--) {
    if (old[old.length - count] !== young[0]) continue
    if (young.slice(0, count).every((row, place) => row === old[old.length - count + place])) return count
  }
  return 0
}

/** No times are requested: the order proves that nothing newer follows, the present that the unit is right. */
function expectTrades(
  rest: PolymarketRest,
  rows: readonly TradeV2Wire[],
  { ids, tokens, fromMs }: AskedMarkets,
  last: TradeV2Wire | undefined,
  origin: string,
  answer: RestResponse,
): void {
  const asked = new Set(ids.map((id) => id.toLowerCase()))
  // Behind a cursor nothing is newer than what came before it.
  const toMs = last === undefined ? rest.now() + MAX_AHEAD_MS : last.timestamp * 1_000 + 1
  const fit = {
    origin,
    range: { fromMs, toMs },
    timeOf: (row: TradeV2Wire) => row.timestamp * 1_000,
    order: 'descending',
    maxRows: TRADES_PER_PAGE,
    fault: (row: TradeV2Wire) => {
      if (!asked.has(row.condition_id.toLowerCase())) return `of ${row.condition_id}, which was not asked for`
      return tokens.has(row.token_id) ? undefined : `of ${row.token_id}, which is no token of the market`
    },
  } as const
  expectFit(rows, fit, answer, rest.data.deadLetters)
}

/** The first version takes one market at a time, and of a busy one lists only the newest trades. */
async function askTradesV1(
  rest: PolymarketRest,
  asked: AskedMarkets,
  sinceS: number,
  signal: AbortSignal,
): Promise<Listed> {
  const found: TradeV2Wire[] = []
  let wholeFromS = sinceS
  for (const marketId of asked.ids) {
    const one = { ...asked, ids: [marketId] }
    const ofMarket: TradeV2Wire[] = []
    let before: string | undefined
    for (let offset = 0; ; ) {
      const page =
        offset < DEEPEST_OFFSET
          ? await askPageV1(rest, one, { offset, before, known: ofMarket }, signal)
          : 'too deep'
      if (page === 'too deep') {
        // The second of the oldest that was next may be next in part.
        wholeFromS = Math.max(wholeFromS, (ofMarket.at(-1)?.timestamp ?? 0) + 1)
        break
      }
      ofMarket.push(...page.rows)
      before = page.text
      if (page.length === 0 || (page.rows.at(-1)?.timestamp ?? sinceS) < sinceS) break
      offset += page.length
    }
    found.push(...ofMarket)
  }
  return { listed: found, wholeFromS }
}

async function askPageV1(
  rest: PolymarketRest,
  asked: AskedMarkets,
  { offset, before, known }: { offset: number; before: string | undefined; known: readonly TradeV2Wire[] },
  signal: AbortSignal,
): Promise<{ rows: TradeV2Wire[]; length: number; text: string } | 'too deep'> {
  const query = { market: asked.ids[0], limit: TRADES_PER_PAGE, offset, takerOnly: 'true' }
  const question = { path: '/trades', query, weight: 1 }
  try {
    const { value, answer } = await requestTyped(rest.data, question, RowsV1, signal)
    const about = { origin: question.path, receivedMs: answer.receivedMs }
    const rows = readEveryRow(rest.data, value, TradeV1, about).map(asV2)
    expectTrades(rest, rows, asked, undefined, question.path, answer)
    if (rows.length > 0 && answer.text === before)
      throw misfit('the page before it once more', question.path, answer, rest.data.deadLetters)
    // Trades that happened since the page before have moved its last rows into this one.
    const fresh = rows.slice(repeatedRows(known, rows))
    expectTrades(rest, fresh, asked, known.at(-1), question.path, answer)
    return { rows: fresh, length: value.length, text: answer.text }
  } catch (error) {
    if (offset > 0 && error instanceof VenueError && error.isFinal) return 'too deep'
    throw error
  }
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
async function askMarket(
  rest: PolymarketRest,
  marketId: string,
  signal: AbortSignal,
): Promise<UpDownMarket | undefined> {
  // In this order: one that closes between the two is in the second.
  for (const closed of ['false', 'true']) {
    const query = { condition_ids: [marketId.toLowerCase()], closed }
    const question = { path: '/markets', query, weight: 1 }
    const { value, answer } = await requestTyped(rest.gamma, question, GammaMarkets, signal)
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
  const { topic, range } = request
  if (topic === 'markets') return yield* walkMarkets(rest, request.symbol, range, signal)
  if (topic !== 'trades' && topic !== 'mids') return yield notProvided(range)
  const [marketId = '', outcome] = (request.market ?? '').split('#')
  if (marketId === '') throw new RangeError(`polymarket: the history of ${topic} needs a market`)
  const known = knownMarket(marketId)
  const hasLegs = known !== undefined && known.legs.length > 0
  const market = hasLegs ? known : await askMarket(rest, marketId, signal)
  if (market === undefined) throw new VenueError(`polymarket knows no market ${marketId}`, { isFinal: true })
  // Listed without its tokens, as happens just after its creation: nothing is known of it yet.
  if (market.legs.length === 0) return yield { observations: [], covered: null, missing: [] }
  if (topic === 'trades') return yield* walkTrades(rest, market, range, signal)
  for (const leg of market.legs) {
    if (outcome === undefined || leg.outcome === outcome) yield* walkMids(rest, leg, range, signal)
  }
}

/** One page: the venue takes no time range here, and a market's trades are few. */
async function* walkTrades(
  rest: PolymarketRest,
  market: UpDownMarket,
  range: HistoryRange,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  const askedMs = rest.now()
  const { trades, wholeFromMs } = await askTrades(rest, [market], signal, range.fromMs)
  const observations = trades.filter(({ venueTimeMs: at }) => at >= range.fromMs && at < range.toMs)
  const covered = rangeOrNull(Math.max(range.fromMs, wholeFromMs), Math.min(range.toMs, askedMs - SETTLE_MS))
  yield { observations, covered, missing: [] }
}

/** By the end of the markets' windows, one series after the other within each span of time. */
async function* walkMarkets(
  rest: PolymarketRest,
  symbol: AssetSymbol,
  range: HistoryRange,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  const spanMs = MARKETS_WINDOW_MS['15m']
  for (let fromMs = range.fromMs; fromMs < range.toMs; fromMs += spanMs) {
    const span = { fromMs, toMs: Math.min(range.toMs, fromMs + spanMs) }
    const observations: HistoryPage['observations'][number][] = []
    let isRead = true
    for (const series of seriesOf(symbol)) {
      const stepMs = MARKETS_WINDOW_MS[series.marketType]
      for (let partMs = span.fromMs; partMs < span.toMs; partMs += stepMs) {
        const part = { fromMs: partMs, toMs: Math.min(span.toMs, partMs + stepMs) }
        // In this order: one that closes between the two is in both, else it would be in neither.
        for (const closed of [false, true]) {
          const options = { range: part, closed, nowMs: rest.now(), signal }
          const { found, receivedMs, isWhole } = await listSeries(rest, series, options)
          isRead &&= isWhole
          observations.push(...found.map(({ market }) => marketObservation(market, receivedMs)))
        }
      }
    }
    // A window that cannot be read may have been traded like any other.
    yield { observations, covered: isRead ? span : null, missing: [] }
  }
}

/** One request per day of a token: samples of every minute are retained for a week. */
async function* walkMids(
  rest: PolymarketRest,
  leg: Leg,
  range: HistoryRange,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  // Only the newer data interface keeps the midpoints of markets that are over.
  if (rest.dataVersion !== 'v2') return yield notProvided(range)
  const { lost, kept } = splitByAge(range, rest.now() - MIDS_KEPT_MS)
  if (lost !== null) yield notProvided(lost)
  if (kept === null) return
  for (let fromMs = kept.fromMs; fromMs < kept.toMs; fromMs += MIDS_WINDOW_MS) {
    const window = { fromMs, toMs: Math.min(kept.toMs, fromMs + MIDS_WINDOW_MS) }
    const askedMs = rest.now()
    const { mids, isFine } = await askMids(rest, leg, window, signal)
    const observations = mids.filter(({ venueTimeMs: at }) => at >= window.fromMs && at < window.toMs)
    const covered = rangeOrNull(window.fromMs, Math.min(window.toMs, askedMs - SETTLE_MS))
    yield { observations, covered: isFine ? covered : null, missing: [] }
  }
}

/** A bucket that begins before the window may reach into it, and the settlement comes after the end. */
function expectMids(
  rest: PolymarketRest,
  rows: readonly { readonly timestamp: number }[],
  window: HistoryRange,
  origin: string,
  answer: RestResponse,
): void {
  const fit = {
    origin,
    range: { fromMs: window.fromMs - MIDS_MARGIN_MS, toMs: window.toMs + MIDS_MARGIN_MS },
    timeOf: (row: { readonly timestamp: number }) => row.timestamp * 1_000,
    order: 'any',
    maxRows: MIDS_PER_PAGE,
  } as const
  expectFit(rows, fit, answer, rest.data.deadLetters)
}

async function askMids(
  rest: PolymarketRest,
  leg: Leg,
  window: HistoryRange,
  signal: AbortSignal,
): Promise<{ mids: MidObservation[]; isFine: boolean }> {
  const about = {
    token_id: leg.tokenId,
    start: Math.floor(window.fromMs / 1_000),
    end: Math.ceil(window.toMs / 1_000),
    bucket_seconds: MID_SECONDS,
    limit: MIDS_PER_PAGE,
  }
  const mids: MidObservation[] = []
  const nextCursor = createCursorTrail('/v2/prices-history', rest.data.deadLetters)
  let isFine = true
  let cursor: string | undefined
  do {
    const question = { path: '/v2/prices-history', query: { ...about, cursor }, weight: 1 }
    const { value, answer } = await requestTyped(rest.data, question, RowsV2, signal)
    const { receivedMs } = answer
    const rows = readEveryRow(rest.data, value.data, MidV2, { origin: question.path, receivedMs })
    expectMids(rest, rows, window, question.path, answer)
    for (const row of rows) {
      // The last point of a resolved market is its settlement, not a price.
      if (row.resolution_seconds === 0) continue
      mids.push(mapMid(row.timestamp, row.price, leg, receivedMs))
      if ((row.resolution_seconds ?? MID_SECONDS) > MID_SECONDS) isFine = false
    }
    expectNextPage(rest, value, false, question.path, answer)
    const next = value.pagination?.has_more === true ? value.pagination.next_cursor : undefined
    cursor = nextCursor(next, answer)
  } while (cursor !== undefined)
  return { mids, isFine }
}
