/**
 * Follows unresolved markets of an earlier run: those that it did not follow to their end, and those that began and
 * ended while nothing was recorded. They are requested until each has a winner, or for a day. Markets that have a
 * winner, but whose trades were not final, are requested once as well, because their sweep may not have finished.
 */
import { MARKET_TYPES, type MarketInput } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { CoverageStore } from '../../store/coverage.ts'
import type { MarketStore } from '../../store/markets.ts'
import { scanMarkets } from '../../store/scan-rows.ts'
import type { SeriesStore } from '../../store/series.ts'
import type { Venue } from '../../venues/venue.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { readPatiently } from '../shared/read-patiently.ts'
import { BASE_INTERVAL, MARKETS_BACK_MS, type PredictionPlan } from './market-feeds.ts'

const ASK_EVERY_MS = 60_000
/** Markets that end up to this long after the start are requested too; later ones are followed live. */
const MARGIN_MS = 60_000
/** A market that already has a winner may still have waited for its last sweep. */
const SWEPT_AFTER_MS = 16 * 60_000

export type RunningMarket = Pick<MarketInput, 'marketId' | 'marketType'>

export async function followUnresolvedMarkets(options: {
  plan: PredictionPlan
  symbol: AssetSymbol
  venue: Pick<Venue, 'history'>
  markets: Pick<MarketStore, 'list'>
  series: Pick<SeriesStore, 'finality'>
  coverage: Pick<CoverageStore, 'read'>
  clock: Clock
  signal: AbortSignal
  onMarket: (market: MarketInput) => void
  /** Called with the stored markets that should be running now. */
  onRunning: (running: readonly RunningMarket[]) => void
  /** Called when all of them were listed once, or given up. */
  onListed: () => void
  onError: (error: unknown) => void
}): Promise<void> {
  const { plan, symbol, venue, clock, signal } = options
  const startedMs = clock.now()
  const { newestEndMs, unresolved, unsweptMs, running } = await readPatiently(async () => {
    const [known] = await options.series.finality([feedOf('trades', plan.source, symbol)])
    // If nothing is final yet, no trade since the very first start has been swept.
    const sweptMs = known?.before || (await recordedFrom(options, startedMs))
    const unsweptMs = sweptMs === undefined ? startedMs : sweptMs - plan.followed.afterMs
    const stored = await readStored(options.markets, plan, symbol, startedMs)
    return { ...stored, unsweptMs: Math.max(unsweptMs, startedMs - MARKETS_BACK_MS) }
  }, options)
  options.onRunning(running)
  let isListed = newestEndMs === undefined
  if (isListed) options.onListed()
  let fromMs =
    newestEndMs === undefined
      ? undefined
      : Math.min(firstEnd(unresolved, newestEndMs) - SWEPT_AFTER_MS, unsweptMs)
  while (fromMs !== undefined && !signal.aborted && clock.now() < startedMs + MARKETS_BACK_MS) {
    try {
      const range = { fromMs, toMs: startedMs + MARGIN_MS }
      let hasMarkets = false
      for await (const page of venue.history({ topic: 'markets', symbol, range }, { signal })) {
        for (const observation of page.observations) {
          if (observation.kind !== 'market') continue
          hasMarkets = true
          options.onMarket(observation.market)
          const { marketId, status, endTime } = observation.market
          if (status === 'resolved' || endTime == null) unresolved.delete(marketId)
          else unresolved.set(marketId, endTime)
        }
      }
      // The first range contains the end of a stored market, so an answer without any market is wrong.
      isListed ||= hasMarkets
      if (isListed) {
        // A market that an answer leaves out still has no winner, so it is requested again.
        fromMs = unresolved.size === 0 ? undefined : firstEnd(unresolved)
        options.onListed()
      }
    } catch (error) {
      if (signal.aborted) return
      options.onError(error)
    }
    if (fromMs !== undefined) await clock.sleep(ASK_EVERY_MS, signal)
  }
  // Markets that a day of requests did not list are given up, because finality and backfill must not wait forever.
  if (!signal.aborted) options.onListed()
}

/** Since when the symbol has been recorded; undefined if it never was. */
async function recordedFrom(
  {
    plan,
    symbol,
    coverage,
  }: { plan: PredictionPlan; symbol: AssetSymbol; coverage: Pick<CoverageStore, 'read'> },
  nowMs: number,
): Promise<number | undefined> {
  const feed = candleFeed(plan.source, symbol, BASE_INTERVAL)
  const { observed } = await coverage.read([feed], nowMs - MARKETS_BACK_MS, nowMs)
  return observed[0]?.from
}

/** End times of markets, by id. */
type Unresolved = Map<string, number>

const firstEnd = (unresolved: Unresolved, endMs = Number.POSITIVE_INFINITY) =>
  unresolved.values().reduce((firstMs, each) => Math.min(firstMs, each), endMs)

/**
 * The end of the newest market that has ended (undefined if none is stored), all markets of the last day that have no
 * winner, and those that should be running.
 */
async function readStored(
  markets: Pick<MarketStore, 'list'>,
  plan: PredictionPlan,
  symbol: AssetSymbol,
  nowMs: number,
): Promise<{ newestEndMs: number | undefined; unresolved: Unresolved; running: RunningMarket[] }> {
  let newestEndMs: number | undefined
  const unresolved: Unresolved = new Map()
  const running: RunningMarket[] = []
  for await (const row of scanMarkets(markets, { source: plan.source, symbol })) {
    const endMs = row.end_time === null ? Number.POSITIVE_INFINITY : Date.parse(row.end_time)
    if (endMs > nowMs) {
      const hasBegun = row.start_time !== null && Date.parse(row.start_time) <= nowMs
      if (hasBegun && row.status === 'open')
        running.push({
          marketId: row.market_id,
          marketType: MARKET_TYPES.find((type) => type === row.market_type) ?? null,
        })
      continue
    }
    if (endMs < nowMs - MARKETS_BACK_MS) break
    newestEndMs ??= endMs
    if (row.status !== 'resolved') unresolved.set(row.market_id, endMs)
  }
  return { newestEndMs, unresolved, running }
}
