/**
 * The markets we know: listed by series around the present, followed from before their window begins until after they
 * have closed, and queried until they have a winner.
 */
import type { MarketInput, MarketType } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { parseTime } from '../../core/time.ts'
import { KnownMarkets } from '../prediction/known-markets.ts'
import { expectRows, misfit } from '../rest/expect-fit.ts'
import { VenueError } from '../rest/rest-client.ts'
import { type RestAccess, readRows, requestTyped, unknownRow } from '../rest/typed-request.ts'
import type { HistoryRange } from '../venue.ts'
import { POLYMARKET_TIMES as TIMES, TOKENS_PER_SOCKET } from './describe.ts'
import {
  isFollowed,
  isPast,
  isResolveDue,
  type KnownMarket,
  mergeMarket,
  nextResolveMs,
  rangeOfEnds,
} from './known-market.ts'
import { type Leg, mapMarket, type UpDownMarket } from './mapper.ts'
import { readSlug, type Series, seriesOf, TENOR_MS } from './slug.ts'
import { ClobMarket, type ClobMarketWire, GammaEvents, GammaMarket, GammaMarkets } from './wire.ts'

const PAGE_ROWS = 100
/** Ten times the pages of the longest range that is listed at once. */
const MAX_PAGES = 200
/** Ten times the windows that a symbol has until their winners are known. */
const MAX_KNOWN = 20_000
/** One in this many queries for a winner goes to the order book's record instead of the catalogue. */
const OTHER_SOURCE_EVERY = 6

export type PolymarketCatalogue = ReturnType<typeof createPolymarketCatalogue>

export interface PolymarketAskers {
  readonly gamma: RestAccess
  readonly clob: RestAccess
  readonly data: RestAccess
}

interface ListedWindows {
  readonly found: UpDownMarket[]
  readonly receivedMs: number
  /** Whether every window in the answers could be read. */
  readonly isWhole: boolean
  /** Ids of the windows that could not be read; undefined where the id is unreadable too. */
  readonly unread: readonly (string | undefined)[]
}

/** Lists the windows of a series that end in the range. */
export async function listSeries(
  askers: Pick<PolymarketAskers, 'gamma'>,
  series: Series,
  options: { range: HistoryRange; closed: boolean; nowMs: number; signal: AbortSignal },
): Promise<ListedWindows> {
  let receivedMs = options.nowMs
  const unread: (string | undefined)[] = []
  for (const slug of series.slugs) {
    const found: UpDownMarket[] = []
    const events = new Set<string>()
    // The venue clamps the limit silently, so only a page with nothing new is the last one.
    for (let offset = 0, page = 1; ; page++) {
      const query = {
        series_slug: slug,
        closed: String(options.closed),
        end_date_min: new Date(options.range.fromMs).toISOString(),
        end_date_max: new Date(options.range.toMs).toISOString(),
        order: 'endDate',
        ascending: 'true',
        limit: PAGE_ROWS,
        offset,
      }
      const question = { path: '/events', query, weight: 1 }
      const { value, answer } = await requestTyped(askers.gamma, question, GammaEvents, options.signal)
      receivedMs = answer.receivedMs
      if (page > MAX_PAGES)
        throw misfit(`more than ${MAX_PAGES} pages`, '/events', answer, askers.gamma.deadLetters)
      expectRows(value, PAGE_ROWS, '/events', answer, askers.gamma.deadLetters)
      const listed: UpDownMarket[] = []
      for (const event of value) {
        const rows = event.markets ?? []
        const read = readRows(askers.gamma, rows, GammaMarket, { origin: '/events', receivedMs })
        if (read.length < rows.length) {
          const ofShape = new Set<unknown>(read)
          unread.push(...rows.filter((row) => !ofShape.has(row) && mayEndIn(row, options.range)).map(idOf))
        }
        for (const row of read) {
          const market = mapMarket(row, receivedMs, event)
          if (market !== undefined) listed.push(market)
          else {
            if (mayEndIn(row, options.range)) unread.push(idOf(row))
            unknownRow(askers.gamma, row, { origin: '/events', receivedMs })
          }
        }
      }
      const ours = listed.filter(({ market }) => isOfSeries(market, series))
      if (ours.length === 0 && listed.length > 0)
        throw misfit(`only windows of other series than ${slug}`, '/events', answer, askers.gamma.deadLetters)
      for (const each of ours) {
        const endMs = each.market.endTime ?? 0
        if (endMs >= options.range.fromMs && endMs < options.range.toMs) found.push(each)
      }
      const isNew = value.some(({ id }) => !events.has(id))
      if (!isNew) break
      for (const { id } of value) events.add(id)
      offset += value.length
    }
    if (found.length > 0) return { found, receivedMs, isWhole: unread.length === 0, unread }
  }
  return { found: [], receivedMs, isWhole: unread.length === 0, unread }
}

/** Whether an unreadable window may end in the range: its slug or end date may still be readable. */
function mayEndIn(row: unknown, { fromMs, toMs }: HistoryRange): boolean {
  const { slug, endDate } = (row ?? {}) as { readonly slug?: unknown; readonly endDate?: unknown }
  const named = typeof slug === 'string' ? readSlug(slug) : undefined
  const endMs =
    named !== undefined && named.startMs !== null
      ? named.startMs + TENOR_MS[named.marketType]
      : typeof endDate === 'string'
        ? parseTime(endDate)
        : undefined
  return endMs === undefined || (endMs >= fromMs && endMs < toMs)
}

function idOf(row: unknown): string | undefined {
  const { conditionId } = (row ?? {}) as { readonly conditionId?: unknown }
  return typeof conditionId === 'string' ? conditionId.toLowerCase() : undefined
}

const isOfSeries = ({ symbol, marketType }: MarketInput, series: Series) =>
  symbol === series.symbol && marketType === series.marketType

/** A record of another market, with other outcomes or with two winners does not name the winner of this one. */
function recordFault(record: ClobMarketWire, { market, legs }: KnownMarket): string | undefined {
  const { condition_id: id, tokens } = record
  if (id.toLowerCase() !== market.marketId) return `of ${id}, asked for ${market.marketId}`
  for (const { token_id: tokenId, outcome } of tokens) {
    const isOurs = legs.some((leg) => leg.tokenId === tokenId && leg.outcome === outcome)
    if (legs.length > 0 && !isOurs) return `the token ${tokenId} of ${outcome}, which is none of the market`
  }
  const winners = tokens.filter(({ winner }) => winner === true).length
  return winners > 1 ? `${winners} winners` : undefined
}

export function createPolymarketCatalogue(askers: PolymarketAskers) {
  const known = new KnownMarkets<KnownMarket>()

  function keep(seen: UpDownMarket, receivedMs: number, isProvisional = false): void {
    const { marketId, symbol } = seen.market
    if (known.get(marketId) === undefined && known.count(symbol) >= MAX_KNOWN)
      throw new VenueError(`polymarket lists more than ${MAX_KNOWN} windows of ${symbol}`, { isFinal: false })
    known.set(symbol, marketId, mergeMarket(known.get(marketId), seen, receivedMs, isProvisional))
  }

  async function askAgain(market: KnownMarket, signal: AbortSignal): Promise<void> {
    const { slug, marketId } = market.market
    if (!market.isProvisional && market.tries % OTHER_SOURCE_EVERY === 0) return askOrderBook(market, signal)
    // Queried by id, because two windows share a slug when New York's clock shows an hour twice. Closed markets are
    // listed only on request.
    const query = { condition_ids: [marketId], closed: 'true' }
    const question = { path: '/markets', query, weight: 1 }
    const { value, answer } = await requestTyped(askers.gamma, question, GammaMarkets, signal)
    const about = { origin: '/markets', receivedMs: answer.receivedMs }
    const rows = readRows(askers.gamma, value, GammaMarket, about)
    const row = rows.find((each) => each.conditionId.toLowerCase() === marketId && each.slug === slug)
    const seen = row === undefined ? undefined : mapMarket(row, answer.receivedMs)
    if (seen === undefined) return
    // A market that is requested alone does not name its event.
    const { eventId, openInterest, tags = [] } = market.market
    const event = {
      eventId: seen.market.eventId ?? eventId ?? null,
      openInterest: seen.market.openInterest ?? openInterest ?? null,
      tags: seen.market.tags?.length ? seen.market.tags : tags,
    }
    keep({ ...seen, market: { ...seen.market, ...event } }, answer.receivedMs)
  }

  async function askOrderBook(market: KnownMarket, signal: AbortSignal): Promise<void> {
    const question = { path: `/markets/${market.market.marketId}`, weight: 1 }
    const { value, answer } = await requestTyped(askers.clob, question, ClobMarket, signal)
    const fault = recordFault(value, market)
    if (fault !== undefined) throw misfit(fault, question.path, answer, askers.clob.deadLetters)
    const winner = value.closed ? value.tokens.find((token) => token.winner === true)?.outcome : undefined
    if (winner === undefined) return
    // The order book does not report the time of resolution; it stays open until the catalogue does.
    const resolved = {
      ...market.market,
      active: false,
      status: 'resolved' as const,
      winner,
      resolvedAt: null,
    }
    keep({ market: resolved, legs: market.legs }, answer.receivedMs, true)
  }

  return {
    /**
     * Lists the windows around the present. Windows that were answered are kept even if a later request fails. Returns
     * the durations in which the lists have windows that are not known and cannot be read.
     */
    async refresh(symbol: AssetSymbol, nowMs: number, signal: AbortSignal): Promise<MarketType[]> {
      const durations = new Set<MarketType>()
      for (const series of seriesOf(symbol)) {
        const range = rangeOfEnds(series, nowMs)
        const { found, receivedMs, unread } = await listSeries(askers, series, {
          range,
          closed: false,
          nowMs,
          signal,
        })
        for (const market of found) keep(market, receivedMs)
        if (unread.some((id) => id === undefined || known.get(id) === undefined))
          durations.add(series.marketType)
      }
      return [...durations]
    },
    /** Queries the windows whose winner is due. */
    async resolve(symbol: AssetSymbol, nowMs: number, signal: AbortSignal) {
      for (const market of known.of(symbol))
        if (isPast(market, nowMs)) known.delete(symbol, market.market.marketId)
      for (const market of known.values(symbol)) {
        if (!isResolveDue(market, nowMs)) continue
        market.tries += 1
        market.nextAskMs = nextResolveMs(market, nowMs)
        try {
          await askAgain(market, signal)
        } catch {
          // Tried again when it is next due.
        }
      }
    },
    /** The venue reports that this market has a winner, so it is queried at once. */
    resolveNow(marketId: string) {
      const market = known.get(marketId)
      if (market !== undefined) market.nextAskMs = 0
    },
    wanted(symbol: AssetSymbol, nowMs: number): Leg[] {
      return known
        .of(symbol)
        .filter((market) => isFollowed(market, nowMs))
        .sort((a, b) => (a.market.endTime ?? 0) - (b.market.endTime ?? 0))
        .flatMap(({ legs }) => legs)
        .slice(0, TOKENS_PER_SOCKET)
    },
    /** Every listed window that is not known yet, because it may be traded a day before it begins. */
    async ahead(symbol: AssetSymbol, nowMs: number, signal: AbortSignal): Promise<UpDownMarket[]> {
      const listed: UpDownMarket[] = []
      for (const series of seriesOf(symbol)) {
        const range = { fromMs: rangeOfEnds(series, nowMs).toMs, toMs: nowMs + TIMES.listedAheadMs }
        if (range.fromMs >= range.toMs) continue
        const { found } = await listSeries(askers, series, { range, closed: false, nowMs, signal })
        listed.push(...found)
      }
      return listed.filter(({ market }) => known.get(market.marketId) === undefined)
    },
    /** Makes a window of `ahead` known before its time. */
    add(market: UpDownMarket, receivedMs: number) {
      if (known.get(market.market.marketId) === undefined) keep(market, receivedMs)
    },
    /** The same array until a market of the symbol changes. */
    of: (symbol: AssetSymbol): readonly KnownMarket[] => known.of(symbol),
    get: (marketId: string): KnownMarket | undefined => known.get(marketId.toLowerCase()),
  }
}
