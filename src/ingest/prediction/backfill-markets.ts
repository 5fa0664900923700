/**
 * A manual backfill of prediction markets, from what their venue still has of the past.
 *
 *   markets that were traded in the range are listed ──▶ catalogue, with their winners
 *   the trades of each ──▶ trades, candles          the venue's own candles of each contract ──▶ candles, open interest
 *
 * No venue publishes past books, so none are filled. Candles of Up/Down markets come from their trades alone, so time
 * without trades stays a gap of the candles.
 */
import type { MarketInput } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { backoffMs } from '../../kit/backoff.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { MarketStore } from '../../store/markets.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../shared/feeds.ts'
import type { BackfillResult, ManualBackfill } from '../shared/manual-backfill.ts'
import { openRowWriter } from '../shared/open-row-writer.ts'
import { type CoverageTracker, createCoverageTracker } from '../shared/track-coverage.ts'
import { uncovered } from '../shared/uncovered.ts'
import { backfillMarket, type MarketBackfill } from './backfill-market.ts'
import { type PastOpenInterest, pastOpenInterest } from './backfill-open-interest.ts'
import type { PredictionPlan } from './market-feeds.ts'
import { firstTradeMs, lastTradeMs, windowOf } from './market-times.ts'
import { marketOfStored, mergeKnown } from './merge-market.ts'
import { createMarketWriter, type MarketWriter } from './write-markets.ts'

const DAY_MS = 86_400_000
/** The longest time from the first trade of a market to its end. */
const MAX_MS = 50 * 3_600_000
const RETRY = { baseMs: 1_000, capMs: 30_000 }
const TRIES = 4

interface MarketsBackfill extends MarketBackfill {
  readonly markets: MarketStore
  readonly catalogue: MarketWriter
  readonly tracker: CoverageTracker
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
}

export async function backfillMarkets(
  options: ManualBackfill & { plan: PredictionPlan },
): Promise<BackfillResult> {
  const { plan, venue, store, clock, random, log } = options
  const signal = options.signal ?? new AbortController().signal
  const writer = openRowWriter({ venue, store, clock, random, log })
  const catalogue = createMarketWriter({ store, log })
  const tracker = createCoverageTracker({ feeds: [], coverage: store.coverage, writer })
  const range = wholeDays(options, clock.now())
  const { series, markets } = store
  const run = {
    ...{ plan, venue, series, markets, writer, catalogue, tracker, range, clock, random, log, signal },
  }
  const symbols = options.symbols.filter((symbol) => Object.hasOwn(venue.describe.symbols, symbol))
  try {
    const lists = await Promise.all(
      symbols.map(async (symbol) => ({ symbol, listed: await listMarkets(run, symbol) })),
    )
    let done = 0
    let failures = lists.reduce((sum, { listed }) => sum + listed.unread.length, 0)
    const total = lists.reduce((sum, { listed }) => sum + listed.found.length, failures)
    const report = () => options.onProgress({ done: done + failures, total, step: 'markets' })
    report()
    await Promise.all(
      lists.map(async ({ symbol, listed }) => {
        // An unreadable market may have been traded during all the time before its end.
        const failed = listed.unread.map(({ fromMs, toMs }) => ({ fromMs: fromMs - MAX_MS, toMs }))
        const interest = pastOpenInterest({ plan, symbol, series, writer, range })
        for (const market of listed.found) {
          if (await backfillWithRetries(run, market, interest)) done += 1
          else {
            failures += 1
            failed.push(tradedRange(plan, market))
          }
          report()
        }
        if (range.toMs > range.fromMs && !signal.aborted)
          await confirmSymbol(
            run,
            symbol,
            interest,
            failed.sort((a, b) => a.fromMs - b.fromMs),
          )
      }),
    )
    await catalogue.flush()
    await writer.flush()
    const { inserted, corrected } = writer.stats()
    return { ranges: total, failed: failures, rowsInserted: inserted, rowsCorrected: corrected }
  } finally {
    await writer.close()
  }
}

/** Today belongs to the running service, which backfills its own gaps. */
function wholeDays({ fromMs, toMs }: HistoryRange, nowMs: number): HistoryRange {
  const floor = (timeMs: number) => Math.floor(timeMs / DAY_MS) * DAY_MS
  return { fromMs: floor(fromMs), toMs: Math.min(floor(toMs + DAY_MS - 1), floor(nowMs)) }
}

function tradedRange(plan: PredictionPlan, market: MarketInput): HistoryRange {
  const window = windowOf(market)
  return { fromMs: firstTradeMs(plan, window), toMs: lastTradeMs(plan, window) }
}

/**
 * The markets that may have been traded in the range, and the ranges of end times that could not be read completely.
 */
async function listMarkets(
  { plan, venue, range, signal }: MarketsBackfill,
  symbol: AssetSymbol,
): Promise<{ found: MarketInput[]; unread: HistoryRange[] }> {
  if (range.toMs <= range.fromMs) return { found: [], unread: [] }
  const found: MarketInput[] = []
  const read: HistoryRange[] = []
  const ends = { fromMs: range.fromMs - plan.followed.afterMs, toMs: range.toMs + MAX_MS }
  for await (const page of venue.history({ topic: 'markets', symbol, range: ends }, { signal })) {
    for (const row of page.observations) if (row.kind === 'market') found.push(row.market)
    const { covered, observations } = page
    // On every day some market ends, so a list without any does not answer for its time.
    const isEmpty = observations.length === 0 && covered !== null && covered.toMs <= range.toMs
    if (covered !== null && !isEmpty) read.push(covered)
  }
  const wasTraded = (market: MarketInput) => {
    const traded = tradedRange(plan, market)
    return traded.fromMs < range.toMs && traded.toMs > range.fromMs
  }
  return { found: found.filter(wasTraded), unread: uncovered(ends, read).filter(hasLength) }
}

const hasLength = ({ fromMs, toMs }: HistoryRange) => toMs > fromMs

/** Returns false if the venue did not answer for the whole market. */
async function backfillWithRetries(
  run: MarketsBackfill,
  market: MarketInput,
  interest: PastOpenInterest,
): Promise<boolean> {
  const { clock, random, log, signal } = run
  for (let attempt = 0; attempt < TRIES; attempt++) {
    try {
      await putMarket(run, market)
      await backfillMarket(run, market, interest, (pieces, isContradicted) => {
        if (attempt < TRIES - 1 || !isContradicted)
          throw new Error(`${pieces} pieces of the volume are in no trade`)
        const about = { market: market.marketId, volume: market.volume, pieces }
        log.warn(about, 'the volume of a market is neither that of its trades nor that of its candles')
      })
      return true
    } catch (error) {
      if (signal.aborted) return false
      log.warn({ market: market.marketId, err: error }, 'the past of a market failed')
      await clock.sleep(backoffMs(RETRY, attempt, random), signal)
    }
  }
  return false
}

async function putMarket({ plan, markets, catalogue }: MarketsBackfill, market: MarketInput): Promise<void> {
  const { marketId, symbol } = market
  const stored = await markets.get(marketId, { source: plan.source, symbol })
  catalogue.put(stored === undefined ? market : mergeKnown(market, marketOfStored(stored)))
}

/** Trades are complete where every market was received in full; candles of contracts come from the venue. */
async function confirmSymbol(
  { plan, tracker, range }: MarketsBackfill,
  symbol: AssetSymbol,
  interest: PastOpenInterest,
  failed: readonly HistoryRange[],
): Promise<void> {
  const trades = feedOf('trades', plan.source, symbol)
  const candles = COARSE_INTERVALS.map((interval) => candleFeed(plan.source, symbol, interval))
  for (const feed of plan.hasTokens ? [trades] : [trades, ...candles])
    for (const { fromMs, toMs } of uncovered(range, failed)) tracker.confirm(feed, fromMs, toMs)
  if (!plan.hasOpenInterest) return
  const lacking = await interest.sum(failed)
  for (const interval of COARSE_INTERVALS)
    for (const { fromMs, toMs } of uncovered(range, lacking))
      tracker.confirm(feedOf('open_interest', plan.source, symbol, interval), fromMs, toMs)
}
