/**
 * The contracts we know. They are listed by series (a contract does not name its series), followed from before they
 * open until after they close, and queried until they are resolved. One that should be running but is missing in the
 * lists is queried too, because a contract may close before its listed time.
 */
import type { MarketInput, MarketType } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { parseTime } from '../../core/time.ts'
import type { MarketObservation } from '../observation.ts'
import { KnownMarkets } from '../prediction/known-markets.ts'
import { createCursorTrail } from '../rest/cursor-trail.ts'
import { expectRows, misfit } from '../rest/expect-fit.ts'
import type { RestResponse } from '../rest/rest-client.ts'
import { type RestAccess, readRows, requestTyped, unknownRow } from '../rest/typed-request.ts'
import { KALSHI_TIMES, QUESTION_TOKENS, TICKERS_PER_SYMBOL } from './describe.ts'
import { mapMarket, marketObservation } from './mapper.ts'
import { expectSeries, isOfSeries, marketTypesOf, type Series, seriesOfSymbol } from './series.ts'
import { type Top, topOf } from './top-check.ts'
import { LISTED_FIELDS, ListedContract, ListedQuotes, MarketList } from './wire.ts'

const PAGE_ROWS = 1_000
/** Ample, because a series has only hundreds of contracts at a time. */
const MAX_PAGES = 20
const TICKERS_PER_QUESTION = 50
/** Ten times the contracts that a symbol has until their results are known. */
const MAX_KNOWN = 50_000

export interface KnownContract {
  readonly market: MarketInput
  /** The same object until something about the contract changes. */
  readonly observation: MarketObservation
  readonly series: Series
  readonly lastPrice: string | null
  /** The listed fields that the contract was made from. */
  readonly listed: readonly unknown[]
  /** When its figures were last received. */
  receivedMs: number
  /** The best bid and ask among these figures; undefined if they lack a side. */
  top: Top | undefined
}

/** The contracts to follow, and the half-open range of time in which they are the right ones. */
interface Wanted {
  readonly tickers: readonly string[]
  readonly fromMs: number
  readonly toMs: number
}

function wantedAt(list: readonly KnownContract[], nowMs: number): Wanted {
  const wanted: MarketInput[] = []
  let toMs = Number.POSITIVE_INFINITY
  for (const { market } of list) {
    if (market.status !== 'open') continue
    const beginsMs = (market.startTime ?? 0) - KALSHI_TIMES.followBeforeOpenMs
    const endsMs = (market.endTime ?? 0) + KALSHI_TIMES.followAfterCloseMs
    if (nowMs >= beginsMs && nowMs < endsMs) wanted.push(market)
    for (const edgeMs of [beginsMs, endsMs]) if (edgeMs > nowMs) toMs = Math.min(toMs, edgeMs)
  }
  const tickers = wanted
    .sort((a, b) => (a.endTime ?? 0) - (b.endTime ?? 0))
    .slice(0, TICKERS_PER_SYMBOL)
    .map(({ marketId }) => marketId)
  return { tickers, fromMs: nowMs, toMs }
}

/** For a contract that cannot be read, whether it opens too late to be followed now. */
function opensLater(row: unknown, nowMs: number): boolean {
  const { open_time: text } = (row ?? {}) as { readonly open_time?: unknown }
  const openMs = typeof text === 'string' ? parseTime(text) : undefined
  return openMs !== undefined && openMs > nowMs + KALSHI_TIMES.followBeforeOpenMs
}

const topOfRow = (row: unknown): Top | undefined => (ListedQuotes.is(row) ? topOf(row) : undefined)

export type KalshiCatalogue = ReturnType<typeof createKalshiCatalogue>

export function createKalshiCatalogue(asker: RestAccess) {
  const known = new KnownMarkets<KnownContract>()
  const nextAskMs = new Map<string, number>()
  /** When the lists of a symbol were last requested, if all of them were answered. */
  const listedMs = new Map<AssetSymbol, number>()
  const wantedOf = new Map<AssetSymbol, Wanted & { readonly list: readonly KnownContract[] }>()

  /** Saves reading a row again: a list has hundreds of contracts, nearly all of them unchanged since the last one. */
  function isUnchanged(row: unknown, series: Series, receivedMs: number): boolean {
    const listed = (row ?? {}) as Readonly<Record<string, unknown>>
    const before = known.get(String(listed.ticker))
    if (before === undefined || before.series !== series) return false
    if (!LISTED_FIELDS.every((field, place) => listed[field] === before.listed[place])) return false
    before.receivedMs = receivedMs
    before.top = topOfRow(row)
    return true
  }

  function keep(row: unknown, series: Series, answer: RestResponse): void {
    const { receivedMs } = answer
    if (isUnchanged(row, series, receivedMs)) return
    const [wire] = readRows(asker, [row], ListedContract, { origin: '/markets', receivedMs })
    const market = wire === undefined ? undefined : mapMarket(wire, series)
    if (wire !== undefined && market === undefined)
      unknownRow(asker, wire, { origin: '/markets', receivedMs })
    if (wire === undefined || market === undefined || !isOfSeries(wire, series)) return
    if (known.get(market.marketId) === undefined && known.count(series.symbol) >= MAX_KNOWN)
      throw misfit(`more than ${MAX_KNOWN} contracts`, '/markets', answer, asker.deadLetters)
    const lastPrice = Number(wire.last_price_dollars ?? 0) > 0 ? (wire.last_price_dollars ?? null) : null
    const before = known.get(market.marketId)
    const isSame = before !== undefined && JSON.stringify(before.market) === JSON.stringify(market)
    const observation = isSame ? before.observation : marketObservation(market, receivedMs)
    const listed = LISTED_FIELDS.map((field) => wire[field])
    const top = topOfRow(row)
    const contract = { market, observation, series, lastPrice, listed, receivedMs, top }
    known.set(series.symbol, market.marketId, contract)
  }

  /** Whether the row's contract is known, from this list or an earlier one, or is of another series. */
  function isKnown(row: unknown, series: Series): boolean {
    const { ticker } = (row ?? {}) as { readonly ticker?: unknown }
    if (typeof ticker !== 'string') return false
    return known.get(ticker) !== undefined || !isOfSeries(row, series)
  }

  /** Returns whether every listed contract that is open or opens soon is known afterwards. */
  async function list(
    series: Series,
    query: Record<string, string | number>,
    signal: AbortSignal,
  ): Promise<boolean> {
    let isRead = true
    const nextCursor = createCursorTrail('/markets', asker.deadLetters, MAX_PAGES)
    let cursor: string | undefined
    do {
      const question = {
        path: '/markets',
        query: { series_ticker: series.ticker, limit: PAGE_ROWS, ...query, cursor },
        weight: QUESTION_TOKENS,
      }
      const { value, answer } = await requestTyped(asker, question, MarketList, signal)
      expectRows(value.markets, PAGE_ROWS, '/markets', answer, asker.deadLetters)
      expectSeries(value.markets, series, '/markets', answer, asker.deadLetters)
      for (const row of value.markets) {
        keep(row, series, answer)
        isRead &&= isKnown(row, series) || (query.status === 'unopened' && opensLater(row, answer.receivedMs))
      }
      cursor = nextCursor(value.cursor, answer)
    } while (cursor !== undefined)
    return isRead
  }

  function isDue(contract: KnownContract, nowMs: number): boolean {
    const { market } = contract
    const sinceMs = nowMs - (market.endTime ?? 0)
    if (market.status === 'resolved' || nowMs < (nextAskMs.get(market.marketId) ?? 0)) return false
    if (sinceMs < KALSHI_TIMES.resolveAfterMs) return isLeftOut(contract, nowMs)
    return sinceMs < KALSHI_TIMES.resolveForMs
  }

  /** Whether a contract that should be running was missing in the last lists. */
  const isLeftOut = ({ market, series, receivedMs }: KnownContract, nowMs: number): boolean =>
    market.status === 'open' &&
    nowMs >= (market.startTime ?? 0) &&
    receivedMs < (listedMs.get(series.symbol) ?? 0)

  /**
   * Forgets contracts long after their result, or when no result is expected any more, so that the list does not grow.
   */
  function forget(symbol: AssetSymbol, nowMs: number): void {
    for (const { market } of known.of(symbol)) {
      const sinceMs = nowMs - (market.endTime ?? 0)
      const isDone = market.status === 'resolved' ? sinceMs > 3_600_000 : sinceMs > KALSHI_TIMES.resolveForMs
      if (!isDone) continue
      known.delete(symbol, market.marketId)
      nextAskMs.delete(market.marketId)
    }
  }

  return {
    /**
     * Lists the open, paused and coming contracts of a symbol. Contracts that were answered are kept even if a later
     * request fails. Returns the durations in which the lists have contracts that are not known and cannot be read.
     */
    async refresh(symbol: AssetSymbol, nowMs: number, signal: AbortSignal): Promise<MarketType[]> {
      const unread = new Set<MarketType>()
      for (const series of seriesOfSymbol(symbol)) {
        // The order matters: a contract that opens or resumes between two requests is in both lists, otherwise in
        // neither.
        for (const status of ['unopened', 'paused', 'open'])
          if (!(await list(series, { status }, signal)))
            for (const type of marketTypesOf(series.kind)) unread.add(type)
      }
      listedMs.set(symbol, nowMs)
      return [...unread]
    },
    /**
     * Requests the contracts whose result is due, and running ones that the lists left out. Returns those that were
     * answered.
     */
    async resolve(symbol: AssetSymbol, nowMs: number, signal: AbortSignal): Promise<KnownContract[]> {
      const answered: KnownContract[] = []
      forget(symbol, nowMs)
      const due = known.of(symbol).filter((each) => isDue(each, nowMs))
      for (const contract of due) {
        const sinceMs = nowMs - (contract.market.endTime ?? 0)
        const isSlow = sinceMs > KALSHI_TIMES.resolvePatienceMs
        const waitMs = isSlow ? KALSHI_TIMES.resolveSlowlyMs : KALSHI_TIMES.resolveEveryMs
        nextAskMs.set(contract.market.marketId, nowMs + waitMs)
      }
      for (let from = 0; from < due.length; from += TICKERS_PER_QUESTION) {
        const tickers = due.slice(from, from + TICKERS_PER_QUESTION).map((each) => each.market.marketId)
        const query = { tickers: tickers.join(','), limit: PAGE_ROWS }
        const question = { path: '/markets', query, weight: QUESTION_TOKENS }
        const { value, answer } = await requestTyped(asker, question, MarketList, signal)
        expectRows(value.markets, PAGE_ROWS, '/markets', answer, asker.deadLetters)
        for (const row of value.markets) {
          const asked =
            ListedContract.is(row) && tickers.includes(row.ticker) ? known.get(row.ticker) : undefined
          if (asked === undefined) continue
          keep(row, asked.series, answer)
          answered.push(known.get(asked.market.marketId) ?? asked)
        }
      }
      return answered
    },
    /** The contracts to follow, preferring those that end first; the same array until they change. */
    wanted(symbol: AssetSymbol, nowMs: number): readonly string[] {
      const list = known.of(symbol)
      const before = wantedOf.get(symbol)
      if (before?.list === list && nowMs >= before.fromMs && nowMs < before.toMs) return before.tickers
      const wanted = wantedAt(list, nowMs)
      // Returns the same array if only other properties of the contracts have changed.
      const isSame = before !== undefined && before.tickers.join() === wanted.tickers.join()
      const tickers = isSame ? before.tickers : wanted.tickers
      wantedOf.set(symbol, { ...wanted, tickers, list })
      return tickers
    },
    get: (ticker: string): KnownContract | undefined => known.get(ticker),
    /** The same array until a contract of the symbol changes. */
    of: (symbol: AssetSymbol): readonly KnownContract[] => known.of(symbol),
  }
}
