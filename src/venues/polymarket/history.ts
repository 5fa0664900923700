/** Polymarket's REST side: order books, trades of a market, midpoints of a token, past markets. */
import type { MarketType } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Fill, MidObservation, TradeObservation } from '../observation.ts'
import { createCursorTrail } from '../rest/cursor-trail.ts'
import { expectFit, misfit } from '../rest/expect-fit.ts'
import { notProvided, rangeOrNull, splitByAge } from '../rest/history-range.ts'
import { type RestResponse, VenueError } from '../rest/rest-client.ts'
import { readEveryRow, readRows, requestTyped } from '../rest/typed-request.ts'
import type { HistoryPage, HistoryRange, HistoryRequest } from '../venue.ts'
import { listSeries, type PolymarketAskers } from './catalogue.ts'
import type { DoubtedTrades } from './doubted-trades.ts'
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
/**
 * Equal fills of one transaction, at the end of a page and at the beginning of the next, look like pages that overlap.
 * Pages of another length end elsewhere.
 */
const PAGE_LENGTHS = [TRADES_PER_PAGE, 870]
/** Version 1 of the data interface reaches no deeper; some of its endpoints refuse offsets from 3,000 on. */
const DEEPEST_OFFSET = 10_000
const MARKETS_WINDOW_MS: Record<MarketType, number> = {
  '5m': 6 * 3_600_000,
  '15m': 24 * 3_600_000,
  '1h': 3 * 24 * 3_600_000,
  '4h': 12 * 24 * 3_600_000,
  '24h': 60 * 24 * 3_600_000,
}
/** A time before the venue existed, or further ahead of our clock than it can be wrong, is in another unit. */
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
/** A shorter part of a running market may fall between two midpoints. */
const MIN_QUOTED_MS = 2 * MID_SECONDS * 1_000
/** The longest time between two midpoints in recordings of a week is two and a half minutes. */
const MAX_UNQUOTED_MS = 3 * MID_SECONDS * 1_000

export interface PolymarketRest extends PolymarketAskers {
  now(): number
  readonly doubts: DoubtedTrades
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
  /** No trade is missing from here on. */
  readonly wholeFromMs: number
  /** The venue listed no trade at all, not even an older one. */
  readonly isEmpty: boolean
}

/**
 * Requests the trades of some markets and returns them oldest first, with the ids that the stream gives them. The venue
 * lists the newest first, so nothing before `sinceMs` has to be read.
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
  // All trades of a transaction have the same time, so no transaction is split.
  const recent = listed.filter(({ timestamp }) => timestamp >= sinceS)
  const ids = idsOf(recent)
  // Trades of the same second stay in the venue's order, because the first may open a candle and the last may close it.
  const ordered = recent
    .toReversed()
    .sort((a, b) => a.timestamp - b.timestamp)
    .flatMap((row) => {
      const leg = legs.get(row.token_id)
      return leg === undefined
        ? []
        : [{ row, trade: mapSweptTrade(row, ids.get(row) ?? '', leg, receivedMs) }]
    })
  const ofTransaction = Map.groupBy(ordered, ({ row }) => transactionOf(row))
  const trades = ordered.map(({ row, trade }) => {
    const fills = ofTransaction.get(transactionOf(row)) ?? []
    if (fills.length < 2) return trade
    // The stream may give the same position to another trade of the transaction.
    const key = `${trade.id} of ${fills.length}`
    return { ...trade, key, fills: fills.map((each) => fillOf(each.trade)) }
  })
  return { trades, wholeFromMs: wholeFromS * 1_000, isEmpty: listed.length === 0 }
}

const fillOf = ({ id, price, size, side }: TradeObservation): Fill => ({ id, price, size, side })

const transactionOf = (row: TradeV2Wire) => `${row.transaction_hash}:${row.token_id}`

/** The position within a transaction follows from facts that every answer agrees on, whatever the order of its rows. */
function idsOf(rows: readonly TradeV2Wire[]): Map<TradeV2Wire, string> {
  const places = new Map<string, number>()
  const ids = new Map<TradeV2Wire, string>()
  for (const row of rows.toSorted(
    (a, b) => a.timestamp - b.timestamp || compareText(factsOf(a), factsOf(b)),
  )) {
    const group = transactionOf(row)
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
  /** None of the markets can have been traded before this time. */
  readonly fromMs: number
}

async function askTradesV2(
  rest: PolymarketRest,
  asked: AskedMarkets,
  sinceS: number,
  signal: AbortSignal,
): Promise<Listed> {
  let overlap: RestResponse | undefined
  for (const length of PAGE_LENGTHS) {
    const pages = await askPagesV2(rest, asked, { sinceS, length }, signal)
    if ('found' in pages) return { listed: pages.found, wholeFromS: sinceS }
    overlap = pages.overlap
  }
  const answer = overlap ?? { receivedMs: rest.now(), text: '' }
  throw misfit('rows of the page before it', '/v2/trades', answer, rest.data.deadLetters)
}

async function askPagesV2(
  rest: PolymarketRest,
  asked: AskedMarkets,
  { sinceS, length }: { sinceS: number; length: number },
  signal: AbortSignal,
): Promise<{ found: TradeV2Wire[] } | { overlap: RestResponse }> {
  const found: TradeV2Wire[] = []
  const nextCursor = createCursorTrail('/v2/trades', rest.data.deadLetters)
  let cursor: string | undefined
  do {
    const query = { condition: asked.ids.join(), limit: length, taker_only: 'true', cursor }
    const question = { path: '/v2/trades', query, weight: 1 }
    const { value, answer } = await requestTyped(rest.data, question, RowsV2, signal)
    const about = { origin: question.path, receivedMs: answer.receivedMs }
    const rows = readEveryRow(rest.data, value.data, TradeV2, about)
    expectTrades(rest, rows, asked, found.at(-1), question.path, answer)
    if (repeatedRows(found, rows) > 0) return { overlap: answer }
    found.push(...rows)
    const isKnown = (found.at(-1)?.timestamp ?? sinceS) < sinceS
    const more = value.pagination?.has_more !== false && !isKnown
    const isCut = value.pagination == null && rows.length >= length
    if (!isKnown) expectNextPage(rest, value, isCut, question.path, answer)
    cursor = nextCursor(more ? value.pagination?.next_cursor : undefined, answer)
  } while (cursor !== undefined)
  return { found }
}

/** More rows exist, because the answer says so or its page is full; without a cursor they would be missing. */
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

/** Number of rows at the beginning of a page that repeat the end of the pages before it. */
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

/**
 * The request has no time range: the order proves that nothing newer follows, and the bounds prove the unit of time.
 */
function expectTrades(
  rest: PolymarketRest,
  rows: readonly TradeV2Wire[],
  { ids, tokens, fromMs }: AskedMarkets,
  last: TradeV2Wire | undefined,
  origin: string,
  answer: RestResponse,
): void {
  const asked = new Set(ids.map((id) => id.toLowerCase()))
  // Nothing on later pages is newer than the last row before them.
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

/** Version 1 takes one market at a time, and lists only the newest trades of a busy market. */
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
        // The second of the oldest trade may be incomplete.
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
    // Trades made since the previous page have moved its last rows into this one.
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

/** Requests the entries of a market, open or closed, by its condition id. */
async function askMarket(
  rest: PolymarketRest,
  marketId: string,
  signal: AbortSignal,
): Promise<UpDownMarket[]> {
  const found: UpDownMarket[] = []
  // The order matters: a market that closes between the two requests is in the second answer.
  for (const closed of ['false', 'true']) {
    const query = { condition_ids: [marketId.toLowerCase()], closed }
    const question = { path: '/markets', query, weight: 1 }
    const { value, answer } = await requestTyped(rest.gamma, question, GammaMarkets, signal)
    const about = { origin: question.path, receivedMs: answer.receivedMs }
    for (const row of readRows(rest.gamma, value, GammaMarket, about)) {
      if (row.conditionId.toLowerCase() !== marketId.toLowerCase()) continue
      const market = mapMarket(row, answer.receivedMs)
      if (market !== undefined) found.push(market)
    }
  }
  return found
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
  const market = hasLegs ? known : (await askMarket(rest, marketId, signal)).at(-1)
  if (market === undefined) throw new VenueError(`polymarket knows no market ${marketId}`, { isFinal: true })
  // A market may be listed without its tokens just after its creation; nothing is known of it yet.
  if (market.legs.length === 0) return yield { observations: [], covered: null, missing: [] }
  if (topic === 'trades') return yield* walkTrades(rest, market, range, signal)
  for (const leg of market.legs) {
    if (outcome === undefined || leg.outcome === outcome) yield* walkMids(rest, market, leg, range, signal)
  }
}

/** Yields a single page, because the venue takes no time range here and a market has few trades. */
async function* walkTrades(
  rest: PolymarketRest,
  market: UpDownMarket,
  range: HistoryRange,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  const askedMs = rest.now()
  const { trades, wholeFromMs, isEmpty } = await askTrades(rest, [market], signal, range.fromMs)
  const { marketId } = market.market
  if (!isEmpty) rest.doubts.settled(marketId)
  else if (!(await isUntraded(rest, market, signal)) && !rest.doubts.isBelieved(marketId, rest.now()))
    return yield { observations: [], covered: null, missing: [] }
  const observations = trades.filter(({ venueTimeMs: at }) => at >= range.fromMs && at < range.toMs)
  const covered = rangeOrNull(Math.max(range.fromMs, wholeFromMs), Math.min(range.toMs, askedMs - SETTLE_MS))
  yield { observations, covered, missing: [] }
}

/** Whether the market's own record agrees with an empty list of trades. */
async function isUntraded(rest: PolymarketRest, market: UpDownMarket, signal: AbortSignal): Promise<boolean> {
  if (isTraded(market)) return false
  const entries = await askMarket(rest, market.market.marketId, signal)
  return entries.length > 0 && !entries.some(isTraded)
}

/** The venue omits a volume of 0. */
export const isTraded = ({ market }: UpDownMarket): boolean => Number(market.volume ?? 0) > 0

/** Lists markets by the end of their windows, one series after another within each span of time. */
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
        // The order matters: a market that closes between the two requests is in both lists, otherwise in neither.
        for (const closed of [false, true]) {
          const options = { range: part, closed, nowMs: rest.now(), signal }
          const { found, receivedMs, isWhole } = await listSeries(rest, series, options)
          isRead &&= isWhole
          observations.push(...found.map(({ market }) => marketObservation(market, receivedMs)))
        }
      }
    }
    // A window that cannot be read may have been traded like any other, so the span is not covered.
    yield { observations, covered: isRead ? span : null, missing: [] }
  }
}

/** One request per token and day; the venue keeps one-minute samples for a week. */
async function* walkMids(
  rest: PolymarketRest,
  { market }: UpDownMarket,
  leg: Leg,
  range: HistoryRange,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  // Only version 2 of the data interface keeps the midpoints of markets that have ended.
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
    const times = observations.map(({ venueTimeMs }) => venueTimeMs)
    if (isFine && lacksMids(times, market, window))
      throw new VenueError('polymarket lacks midpoints of a running market', { isFinal: false })
    yield { observations, covered: isFine ? covered : null, missing: [] }
  }
}

/** A running market is quoted every minute, so an answer that is empty, or has no midpoint for longer, is cut or old. */
function lacksMids(
  times: readonly number[],
  { startTime, endTime }: UpDownMarket['market'],
  { fromMs, toMs }: HistoryRange,
): boolean {
  const startMs = Math.max(startTime ?? fromMs, fromMs)
  const endMs = Math.min(endTime ?? toMs, toMs)
  if (times.length === 0) return endMs - startMs >= MIN_QUOTED_MS
  let atMs = startMs
  for (const timeMs of [...times, endMs]) {
    if (Math.min(timeMs, endMs) - atMs > MAX_UNQUOTED_MS) return true
    atMs = Math.max(atMs, timeMs)
  }
  return false
}

/** A bucket that begins before the window may reach into it, and the settlement follows after the end. */
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
