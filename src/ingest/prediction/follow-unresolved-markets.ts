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
import { MARKETS_BACK_MS, type PredictionPlan } from './market-feeds.ts'

const ASK_EVERY_MS = 60_000
/** A winner is published within some minutes; what has just ended is followed live. */
const MARGIN_MS = 60_000
/** A market that has a winner may still have been waiting for its last sweep. */
const SWEPT_AFTER_MS = 16 * 60_000

export async function followUnresolvedMarkets(options: {
  plan: PredictionPlan
  symbol: AssetSymbol
  venue: Venue
  markets: MarketStore
  clock: Clock
  signal: AbortSignal
  onMarket: (market: MarketInput) => void
  /** All of them were listed once. */
  onListed: () => void
  onError: (error: unknown) => void
}): Promise<void> {
  const { plan, symbol, venue, clock, signal } = options
  const startedMs = clock.now()
  let fromMs = await firstUnresolved(options.markets, plan, symbol, startedMs)
  if (fromMs === undefined) options.onListed()
  else fromMs -= SWEPT_AFTER_MS
  while (fromMs !== undefined && !signal.aborted && clock.now() < startedMs + MARKETS_BACK_MS) {
    try {
      const range = { fromMs, toMs: startedMs + MARGIN_MS }
      let nextMs: number | undefined
      for await (const page of venue.history({ topic: 'markets', symbol, range }, { signal })) {
        for (const observation of page.observations) {
          if (observation.kind !== 'market') continue
          options.onMarket(observation.market)
          nextMs = unresolvedFrom(observation.market, nextMs)
        }
      }
      fromMs = nextMs
      options.onListed()
    } catch (error) {
      if (signal.aborted) return
      options.onError(error)
    }
    if (fromMs !== undefined) await clock.sleep(ASK_EVERY_MS, signal)
  }
}

function unresolvedFrom(market: MarketInput, soFarMs: number | undefined): number | undefined {
  if (market.status === 'resolved' || market.endTime == null) return soFarMs
  return Math.min(soFarMs ?? market.endTime, market.endTime)
}

/** The end of the oldest market without a winner, or of the newest one that has one; undefined where none is stored. */
async function firstUnresolved(
  markets: MarketStore,
  plan: PredictionPlan,
  symbol: AssetSymbol,
  nowMs: number,
): Promise<number | undefined> {
  let firstMs: number | undefined
  for await (const row of scanMarkets(markets, { source: plan.source, symbol })) {
    const endMs = row.end_time === null ? Number.POSITIVE_INFINITY : Date.parse(row.end_time)
    if (endMs > nowMs) continue
    if (endMs < nowMs - MARKETS_BACK_MS) return firstMs
    if (firstMs === undefined || row.status !== 'resolved') firstMs = endMs
  }
  return firstMs
}
