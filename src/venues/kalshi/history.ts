/** Kalshi's REST side: order books, trades and candles of a contract, and the two tiers of its history. */
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { parseTime } from '../../core/time.ts'
import type { DeadLetters } from '../dead-letter.ts'
import type { ContractCandleObservation, TradeObservation } from '../observation.ts'
import { createCursorTrail } from '../rest/cursor-trail.ts'
import { expectFit, expectRows, misfit } from '../rest/expect-fit.ts'
import { ceilTo, floorTo, notProvided, rangeOrNull } from '../rest/history-range.ts'
import { type RestResponse, VenueError } from '../rest/rest-client.ts'
import { type RestAccess, readEveryRow, readRows, requestTyped, unknownRow } from '../rest/typed-request.ts'
import type { HistoryPage, HistoryRange, HistoryRequest } from '../venue.ts'
import { QUESTION_TOKENS } from './describe.ts'
import { aboutOf, type CandleWire, mapCandle, mapMarket, mapRestTrade, marketObservation } from './mapper.ts'
import { expectSeries, isOfSeries, seriesOfSymbol, seriesOfTicker } from './series.ts'
import {
  CandleList,
  Cutoff,
  HistoricalCandle,
  ListedContract,
  LiveCandle,
  MarketList,
  RestBook,
  type RestBookWire,
  RestTrade,
  type RestTradeWire,
  TradeList,
} from './wire.ts'

const PAGE_ROWS = 1_000
/** One request is enough for a contract with few trades; further pages follow a cursor. */
const TRADES_WINDOW_MS = 24 * 3_600_000
const MARKETS_WINDOW_MS = 24 * 3_600_000
const CANDLES_PER_PAGE = 5_000
/** A candle or a trade may be published late. */
const SETTLE_MS = 60_000
/** Requests all levels; with any other depth the venue truncates the book silently. */
const ALL_LEVELS = 0
const CUTOFF_HOLDS_MS = 10 * 60_000
/** Limits of a plausible cutoff: before the venue existed, and further ahead of our clock than it can be wrong. */
const FIRST_CONTRACT_MS = Date.UTC(2021, 0, 1)
const MAX_AHEAD_MS = 24 * 3_600_000

export interface KalshiRest extends RestAccess {
  now(): number
  /** The times at which the live tier begins. */
  cutoff(signal: AbortSignal): Promise<Cutoffs>
}

interface Cutoffs {
  readonly tradesMs: number
  readonly marketsMs: number
}

type Tier = 'live' | 'historical'
const PATHS: Record<Tier, { trades: string; markets: string }> = {
  live: { trades: '/markets/trades', markets: '/markets' },
  historical: { trades: '/historical/trades', markets: '/historical/markets' },
}

export async function askRestBook(
  rest: RestAccess,
  ticker: string,
  signal: AbortSignal,
): Promise<{ book: RestBookWire['orderbook_fp']; receivedMs: number }> {
  const path = `/markets/${encodeURIComponent(ticker)}/orderbook`
  const question = { path, query: { depth: ALL_LEVELS }, weight: QUESTION_TOKENS }
  const { value, answer } = await requestTyped(rest, question, RestBook, signal)
  return { book: value.orderbook_fp, receivedMs: answer.receivedMs }
}

/** Caches the cutoff, which moves by a day at a time. */
export function rememberCutoff(rest: RestAccess & { now(): number }): KalshiRest['cutoff'] {
  let known: { value: Cutoffs; untilMs: number } | undefined
  return async (signal) => {
    if (known !== undefined && rest.now() < known.untilMs) return known.value
    const value = await askCutoff(rest, signal)
    known = { value, untilMs: rest.now() + CUTOFF_HOLDS_MS }
    return value
  }
}

/** The times at which the live tier begins, for trades and for settled contracts. */
async function askCutoff(rest: RestAccess, signal: AbortSignal): Promise<Cutoffs> {
  const question = { path: '/historical/cutoff', weight: QUESTION_TOKENS }
  const { value, answer } = await requestTyped(rest, question, Cutoff, signal)
  const ms = (cutoff: string | number) => {
    const timeMs = typeof cutoff === 'number' ? cutoff * 1_000 : (parseTime(cutoff) ?? Number.NaN)
    // With a wrong cutoff, everything would be requested from the wrong tier.
    if (!(timeMs >= FIRST_CONTRACT_MS && timeMs <= answer.receivedMs + MAX_AHEAD_MS))
      throw misfit(`a cutoff of ${cutoff}`, question.path, answer, rest.deadLetters)
    return timeMs
  }
  return { tradesMs: ms(value.trades_created_ts), marketsMs: ms(value.market_settled_ts) }
}

/** All trades of a contract in the range, oldest first. The venue lists the newest first. */
export async function askTrades(
  rest: RestAccess,
  contract: { symbol: AssetSymbol; ticker: string },
  range: HistoryRange,
  tier: Tier,
  signal: AbortSignal,
): Promise<TradeObservation[]> {
  const found = new Map<string, TradeObservation>()
  const origin = PATHS[tier].trades
  const nextCursor = createCursorTrail(origin, rest.deadLetters)
  let cursor: string | undefined
  do {
    const question = {
      path: origin,
      query: {
        ticker: contract.ticker,
        min_ts: Math.floor(range.fromMs / 1_000),
        max_ts: Math.ceil(range.toMs / 1_000),
        limit: PAGE_ROWS,
        cursor,
      },
      weight: QUESTION_TOKENS,
    }
    const { value, answer } = await requestTyped(rest, question, TradeList, signal)
    const { receivedMs } = answer
    const rows = readEveryRow(rest, value.trades, RestTrade, { origin, receivedMs })
    // Both ends are requested in whole seconds and are inclusive.
    const { min_ts: fromS, max_ts: toS } = question.query
    const fit = {
      origin,
      range: { fromMs: fromS * 1_000, toMs: (toS + 1) * 1_000 },
      timeOf: (row: RestTradeWire) => parseTime(row.created_time) ?? Number.NaN,
      order: 'descending',
      maxRows: PAGE_ROWS,
      fault: (row: RestTradeWire) => tickerFault(row, contract.ticker),
    } as const
    expectFit(rows, fit, answer, rest.deadLetters)
    const known = found.size
    let outside = 0
    for (const row of rows) {
      const trade = mapRestTrade(row, aboutOf(contract.symbol, row.ticker, receivedMs))
      if (trade === undefined) throw misfit('a trade without a side', origin, answer, rest.deadLetters)
      if (trade.venueTimeMs >= range.fromMs && trade.venueTimeMs < range.toMs) found.set(trade.id, trade)
      else outside += 1
    }
    if (found.size - known + outside < rows.length)
      throw misfit('a trade twice', origin, answer, rest.deadLetters)
    cursor = nextCursor(value.cursor, answer)
  } while (cursor !== undefined)
  return [...found.values()].reverse().sort((a, b) => a.venueTimeMs - b.venueTimeMs)
}

const tickerFault = (row: { readonly ticker: string }, ticker: string) =>
  row.ticker === ticker ? undefined : `of ${row.ticker}, asked for ${ticker}`

export async function* walkHistory(
  rest: KalshiRest,
  request: HistoryRequest,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  if (request.topic === 'markets') return yield* walkMarkets(rest, request, signal)
  const isContract = request.topic === 'trades' || request.topic === 'contract_candles'
  if (!isContract) return yield notProvided(request.range)
  const ticker = request.market
  if (ticker === undefined) throw new RangeError(`kalshi: the history of ${request.topic} needs a market`)
  const contract = { symbol: request.symbol, ticker }
  if (request.topic === 'trades') yield* walkTrades(rest, contract, request.range, signal)
  else yield* walkCandles(rest, contract, request.interval ?? '1m', request.range, signal)
}

/** Lists contracts by their close, day by day. */
async function* walkMarkets(
  rest: KalshiRest,
  request: HistoryRequest,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  const { marketsMs } = await rest.cutoff(signal)
  for (const range of windows(request.range, MARKETS_WINDOW_MS)) {
    const tiers: Tier[] = range.fromMs < marketsMs ? ['historical', 'live'] : ['live']
    const byTicker = new Map<string, ReturnType<typeof marketObservation>>()
    let isRead = true
    for (const tier of tiers) {
      for (const series of seriesOfSymbol(request.symbol)) {
        const nextCursor = createCursorTrail(PATHS[tier].markets, rest.deadLetters)
        let cursor: string | undefined
        do {
          const query = {
            series_ticker: series.ticker,
            // The venue lists contracts that close after this time, exclusively.
            min_close_ts: Math.floor(range.fromMs / 1_000) - 1,
            max_close_ts: Math.ceil(range.toMs / 1_000),
            limit: PAGE_ROWS,
            cursor,
          }
          const question = { path: PATHS[tier].markets, query, weight: QUESTION_TOKENS }
          const { value, answer } = await requestTyped(rest, question, MarketList, signal)
          const about = { origin: question.path, receivedMs: answer.receivedMs }
          expectRows(value.markets, PAGE_ROWS, question.path, answer, rest.deadLetters)
          expectSeries(value.markets, series, question.path, answer, rest.deadLetters)
          const rows = readRows(rest, value.markets, ListedContract, about)
          if (rows.length < value.markets.length) isRead = false
          // The historical tier lists a series from its beginning, whatever close times are requested.
          if (tier === 'live') expectCloses(rows, query, question.path, answer, rest.deadLetters)
          for (const row of rows) {
            if (!isOfSeries(row, series)) continue
            const market = mapMarket(row, series)
            if (market === undefined) {
              isRead = false
              unknownRow(rest, row, about)
            }
            const endMs = market?.endTime ?? 0
            if (market === undefined || endMs < range.fromMs || endMs >= range.toMs) continue
            byTicker.set(row.ticker, marketObservation(market, answer.receivedMs))
          }
          cursor = nextCursor(value.cursor, answer)
        } while (cursor !== undefined)
      }
    }
    // A contract that cannot be read may have been traded like any other, so the range is not covered.
    yield { observations: [...byTicker.values()], covered: isRead ? range : null, missing: [] }
  }
}

/** A list in which no contract closes within the requested times answers another request. */
function expectCloses(
  rows: readonly { readonly close_time: string }[],
  { min_close_ts: minS, max_close_ts: maxS }: { min_close_ts: number; max_close_ts: number },
  origin: string,
  answer: Pick<RestResponse, 'receivedMs' | 'text'>,
  deadLetters: DeadLetters,
): void {
  const isWithin = ({ close_time: text }: { readonly close_time: string }) => {
    const closeMs = parseTime(text) ?? Number.NaN
    return closeMs >= minS * 1_000 && closeMs <= maxS * 1_000
  }
  if (rows.length > 0 && !rows.some(isWithin))
    throw misfit(`no contract that closes from ${minS} to ${maxS}`, origin, answer, deadLetters)
}

async function* walkTrades(
  rest: KalshiRest,
  contract: { symbol: AssetSymbol; ticker: string },
  range: HistoryRange,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  const { tradesMs } = await rest.cutoff(signal)
  const settledMs = Math.min(range.toMs, rest.now() - SETTLE_MS)
  const cutMs = Math.min(Math.max(range.fromMs, tradesMs), settledMs)
  for (const [tier, part] of [
    ['historical', rangeOrNull(range.fromMs, cutMs)],
    ['live', rangeOrNull(cutMs, settledMs)],
  ] as const) {
    for (const window of part === null ? [] : windows(part, TRADES_WINDOW_MS)) {
      const asked = await askTrades(rest, contract, window, tier, signal)
      // For a contract that settled after the cutoff, the historical tier returns an empty list instead of an error.
      const isElsewhere = tier === 'historical' && asked.length === 0
      const observations = isElsewhere ? await askTrades(rest, contract, window, 'live', signal) : asked
      yield { observations, covered: window, missing: [] }
    }
  }
}

const PERIODS: Partial<Record<CandleInterval, number>> = { '1m': 1, '1h': 60 }

async function* walkCandles(
  rest: KalshiRest,
  contract: { symbol: AssetSymbol; ticker: string },
  interval: CandleInterval,
  range: HistoryRange,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  const period = PERIODS[interval]
  const series = seriesOfTicker(contract.ticker)
  if (period === undefined || series === undefined) return yield notProvided(range)
  const lengthMs = INTERVAL_MS[interval]
  const { marketsMs } = await rest.cutoff(signal)
  const settledMs = Math.min(range.toMs, floorTo(rest.now() - SETTLE_MS, lengthMs))
  let fromMs = range.fromMs
  while (fromMs < settledMs) {
    const startMs = ceilTo(fromMs, lengthMs)
    const toMs = Math.min(settledMs, startMs + CANDLES_PER_PAGE * lengthMs)
    const window = { fromMs: startMs, toMs }
    const ask = (tier: Tier) =>
      askCandles(rest, { ...contract, series: series.ticker }, interval, period, window, tier, signal)
    const tiers = toMs <= marketsMs ? (['historical', 'live'] as const) : (['live', 'historical'] as const)
    const observations = await fromEither(tiers, ask)
    yield { observations, covered: rangeOrNull(fromMs, toMs), missing: [] }
    fromMs = toMs
  }
}

/**
 * A contract is in one tier only: before the cutoff passes its settlement, the live tier has it with all of its past;
 * afterwards the historical tier has it. The other tier refuses it.
 */
async function fromEither<T>(
  [first, second]: readonly [Tier, Tier],
  ask: (tier: Tier) => Promise<T>,
): Promise<T> {
  try {
    return await ask(first)
  } catch (error) {
    if (error instanceof VenueError && error.isFinal) return ask(second)
    throw error
  }
}

async function askCandles(
  rest: RestAccess,
  contract: { symbol: AssetSymbol; ticker: string; series: string },
  interval: CandleInterval,
  period: number,
  window: HistoryRange,
  tier: Tier,
  signal: AbortSignal,
): Promise<ContractCandleObservation[]> {
  const ticker = encodeURIComponent(contract.ticker)
  const path =
    tier === 'live'
      ? `/series/${contract.series}/markets/${ticker}/candlesticks`
      : `/historical/markets/${ticker}/candlesticks`
  const lengthMs = INTERVAL_MS[interval]
  // Candles are stamped and requested by their end.
  const query = {
    start_ts: (window.fromMs + lengthMs) / 1_000,
    end_ts: Math.floor(window.toMs / 1_000),
    period_interval: period,
  }
  const question = { path, query, weight: QUESTION_TOKENS }
  const { value, answer } = await requestTyped(rest, question, CandleList, signal)
  if (value.ticker != null && value.ticker !== contract.ticker)
    throw misfit(`of ${value.ticker}, asked for ${contract.ticker}`, path, answer, rest.deadLetters)
  const { receivedMs } = answer
  const type = tier === 'live' ? LiveCandle : HistoricalCandle
  const candles = readEveryRow(rest, value.candlesticks, type, { origin: path, receivedMs }).map((row) => {
    const about = aboutOf(contract.symbol, contract.ticker, receivedMs)
    return mapCandle(row as CandleWire & Record<string, unknown>, tier, interval, about)
  })
  const fit = {
    origin: path,
    range: window,
    timeOf: (candle: ContractCandleObservation) => candle.openTimeMs,
    order: 'rising',
    maxRows: CANDLES_PER_PAGE,
    fault: (candle: ContractCandleObservation) =>
      candle.openTimeMs % lengthMs === 0 ? undefined : `a candle off the grid of ${interval}`,
  } as const
  expectFit(candles, fit, answer, rest.deadLetters)
  return candles
}

function* windows(range: HistoryRange, lengthMs: number): Generator<HistoryRange> {
  for (let fromMs = range.fromMs; fromMs < range.toMs; fromMs += lengthMs) {
    yield { fromMs, toMs: Math.min(range.toMs, fromMs + lengthMs) }
  }
}
