/**
 * Unresolved markets of an earlier run: those that it did not follow to their end, and those that began and ended while
 * nothing was recorded. They are requested until each has a winner, or for a day.
 */
import type { MarketInput } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { MarketStore } from '../../store/markets.ts'
import { scanMarkets } from '../../store/scan-rows.ts'
import type { Venue } from '../../venues/venue.ts'
import { readPatiently } from '../shared/read-patiently.ts'
import { MARKETS_BACK_MS, type PredictionPlan } from './market-feeds.ts'

const ASK_EVERY_MS = 60_000
/** A winner is published within some minutes; what has just ended is followed live. */
const MARGIN_MS = 60_000
/** A market that has a winner may still have been waiting for its last sweep. */
const SWEPT_AFTER_MS = 16 * 60_000

export async function followUnresolvedMarkets(options: {
  plan: PredictionPlan
  symbol: AssetSymbol
  venue: Pick<Venue, 'history'>
  markets: Pick<MarketStore, 'list'>
  clock: Clock
  signal: AbortSignal
  onMarket: (market: MarketInput) => void
  /** All of them were listed once. */
  onListed: () => void
  onError: (error: unknown) => void
}): Promise<void> {
  const { plan, symbol, venue, clock, signal } = options
  const startedMs = clock.now()
  const { newestEndMs, unresolved } = await readPatiently(
    () => readStored(options.markets, plan, symbol, startedMs),
    options,
  )
  if (newestEndMs === undefined) options.onListed()
  let fromMs = newestEndMs === undefined ? undefined : firstEnd(unresolved, newestEndMs) - SWEPT_AFTER_MS
  while (fromMs !== undefined && !signal.aborted && clock.now() < startedMs + MARKETS_BACK_MS) {
    try {
      const range = { fromMs, toMs: startedMs + MARGIN_MS }
      for await (const page of venue.history({ topic: 'markets', symbol, range }, { signal })) {
        for (const observation of page.observations) {
          if (observation.kind !== 'market') continue
          options.onMarket(observation.market)
          const { marketId, status, endTime } = observation.market
          if (status === 'resolved' || endTime == null) unresolved.delete(marketId)
          else unresolved.set(marketId, endTime)
        }
      }
      // One that an answer leaves out still has no winner: it is requested again.
      fromMs = unresolved.size === 0 ? undefined : firstEnd(unresolved)
      options.onListed()
    } catch (error) {
      if (signal.aborted) return
      options.onError(error)
    }
    if (fromMs !== undefined) await clock.sleep(ASK_EVERY_MS, signal)
  }
}

/** Ends of markets by id. */
type Unresolved = Map<string, number>

const firstEnd = (unresolved: Unresolved, endMs = Number.POSITIVE_INFINITY) =>
  unresolved.values().reduce((firstMs, each) => Math.min(firstMs, each), endMs)

/** The end of the newest market that has ended (undefined where none is stored), and all of a day without a winner. */
async function readStored(
  markets: Pick<MarketStore, 'list'>,
  plan: PredictionPlan,
  symbol: AssetSymbol,
  nowMs: number,
): Promise<{ newestEndMs: number | undefined; unresolved: Unresolved }> {
  let newestEndMs: number | undefined
  const unresolved: Unresolved = new Map()
  for await (const row of scanMarkets(markets, { source: plan.source, symbol })) {
    const endMs = row.end_time === null ? Number.POSITIVE_INFINITY : Date.parse(row.end_time)
    if (endMs > nowMs) continue
    if (endMs < nowMs - MARKETS_BACK_MS) break
    newestEndMs ??= endMs
    if (row.status !== 'resolved') unresolved.set(row.market_id, endMs)
  }
  return { newestEndMs, unresolved }
}
