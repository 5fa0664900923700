/**
 * Follows unresolved markets of an earlier run: those that it did not follow to their end, those that began and ended
 * while nothing was recorded, and those that ended after the start without being listed. They are requested until each
 * has a winner, or for a day. Markets that have a winner, but whose trades were not final, are requested once as well,
 * because their sweep may not have finished.
 */
import { MARKET_TYPES, type MarketInput } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { CoverageStore } from '../../store/coverage.ts'
import type { MarketStore } from '../../store/markets.ts'
import { scanMarkets } from '../../store/scan-rows.ts'
import type { SeriesStore } from '../../store/series.ts'
import type { HistoryRange, Venue } from '../../venues/venue.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { readPatiently } from '../shared/read-patiently.ts'
import { BASE_INTERVAL, MARKETS_BACK_MS, type PredictionPlan } from './market-feeds.ts'

const ASK_EVERY_MS = 60_000
/** Markets that end up to this long after the start are requested too; later ones are followed live if listed. */
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
  isFollowed: (marketId: string) => boolean
  /** Called with the stored markets that should be running now. */
  onRunning: (running: readonly RunningMarket[]) => void
  /** Called when all of them were listed once, or given up. */
  onListed: () => void
  onError: (error: unknown) => void
}): Promise<void> {
  const { plan, symbol, venue, clock, signal } = options
  const startedMs = clock.now()
  const { newestEndMs, unresolved, unsweptMs, unended, running } = await readPatiently(async () => {
    const [known] = await options.series.finality([feedOf('trades', plan.source, symbol)])
    // If nothing is final yet, no trade since the very first start has been swept.
    const sweptMs = known?.before || (await recordedFrom(options, startedMs))
    const unsweptMs = sweptMs === undefined ? startedMs : sweptMs - plan.followed.afterMs
    const stored = await readStored(options.markets, plan, symbol, startedMs)
    return { ...stored, unsweptMs: Math.max(unsweptMs, startedMs - MARKETS_BACK_MS) }
  }, options)
  options.onRunning(running)
  const listWithinMs = startedMs + MARKETS_BACK_MS
  let isListed = newestEndMs === undefined
  if (isListed) options.onListed()
  let fromMs =
    newestEndMs === undefined
      ? undefined
      : Math.min(firstEnd(unresolved, newestEndMs) - SWEPT_AFTER_MS, unsweptMs)
  let toMs = startedMs + MARGIN_MS
  while (!signal.aborted) {
    const nowMs = clock.now()
    // Markets that a day of requests did not list are given up, because finality and backfill must not wait forever.
    if (!isListed && nowMs >= listWithinMs) {
      isListed = true
      options.onListed()
    }
    for (const [marketId, endMs] of unended) {
      if (options.isFollowed(marketId)) unended.delete(marketId)
      if (!unended.has(marketId) || nowMs < endMs + MARGIN_MS) continue
      unended.delete(marketId)
      unresolved.set(marketId, endMs)
      fromMs = Math.min(fromMs ?? endMs, endMs)
      toMs = Math.max(toMs, endMs + MARGIN_MS)
    }
    if (nowMs >= toMs - MARGIN_MS + MARKETS_BACK_MS) fromMs = undefined
    if (fromMs !== undefined) await request({ fromMs, toMs })
    if (fromMs === undefined && unended.size === 0) break
    await clock.sleep(ASK_EVERY_MS, signal)
  }

  async function request(range: HistoryRange): Promise<void> {
    let hasMarkets = false
    try {
      for await (const page of venue.history({ topic: 'markets', symbol, range }, { signal })) {
        for (const observation of page.observations) {
          if (observation.kind !== 'market') continue
          hasMarkets = true
          const { market } = observation
          // While it runs, its books are recorded only if it is listed, so it is not followed before its end.
          if (market.endTime == null || market.endTime <= clock.now()) options.onMarket(market)
          if (market.status === 'resolved' || market.endTime == null) unresolved.delete(market.marketId)
          else unresolved.set(market.marketId, market.endTime)
        }
      }
    } catch (error) {
      if (!signal.aborted) options.onError(error)
      return
    }
    // The first range contains the end of a stored market, so an answer without any market is wrong.
    if (!isListed && !hasMarkets) return
    isListed = true
    // A market that an answer leaves out still has no winner, so it is requested again.
    fromMs = unresolved.size === 0 ? undefined : firstEnd(unresolved)
    options.onListed()
  }
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
 * winner, those that end later, and which of these should be running.
 */
async function readStored(
  markets: Pick<MarketStore, 'list'>,
  plan: PredictionPlan,
  symbol: AssetSymbol,
  nowMs: number,
): Promise<{
  newestEndMs: number | undefined
  unresolved: Unresolved
  unended: Unresolved
  running: RunningMarket[]
}> {
  let newestEndMs: number | undefined
  const unresolved: Unresolved = new Map()
  const unended: Unresolved = new Map()
  const running: RunningMarket[] = []
  for await (const row of scanMarkets(markets, { source: plan.source, symbol })) {
    const endMs = row.end_time === null ? Number.POSITIVE_INFINITY : Date.parse(row.end_time)
    if (endMs > nowMs) {
      if (row.status !== 'resolved' && Number.isFinite(endMs)) unended.set(row.market_id, endMs)
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
  return { newestEndMs, unresolved, unended, running }
}
