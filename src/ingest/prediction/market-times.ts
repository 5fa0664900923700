/** When a market is traded, sampled and listed, according to its window and the plan of its venue. */
import type { MarketInput } from '../../core/rows/market.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import type { PredictionPlan } from './market-feeds.ts'

/** Books are sampled from this long before the window; earlier ones are of little use. */
export const SAMPLE_BEFORE_MS = 60_000
/** Venues list a trade within this time, so a request for a more recent time may lack some. */
export const LISTED_AFTER_MS = 75_000
/** Markets with tokens that are longer than this are followed from one length before their start. */
const LONG_MARKET_MS = 15 * 60_000

/** From the start of a market, inclusive, to its end, exclusive. */
export interface MarketWindow {
  readonly startMs: number
  readonly endMs: number
}

export const windowOf = (market: Pick<MarketInput, 'startTime' | 'endTime'>): MarketWindow => ({
  startMs: market.startTime ?? 0,
  endMs: market.endTime ?? 0,
})

/** No trade of the market is older. */
export const firstTradeMs = (plan: PredictionPlan, { startMs }: MarketWindow): number =>
  startMs - plan.tradesBeforeMs

/** No trade of the market is newer. */
export const lastTradeMs = (plan: PredictionPlan, { endMs }: MarketWindow): number =>
  endMs + plan.followed.afterMs

/** The time in which its trades are recorded. */
export function followedRange(plan: PredictionPlan, window: MarketWindow): HistoryRange {
  const lengthMs = window.endMs - window.startMs
  const earlyMs = plan.hasTokens && lengthMs > LONG_MARKET_MS ? lengthMs : 0
  return {
    fromMs: window.startMs - plan.followed.beforeMs - earlyMs,
    toMs: lastTradeMs(plan, window),
  }
}

/**
 * Whether rows of a market that is listed now may already be stored, by an earlier run or before its recorder was
 * dropped. A market that has not begun may have early trades.
 */
export function mayHaveRows(
  plan: PredictionPlan,
  window: MarketWindow,
  { startedMs, nowMs }: { startedMs: number; nowMs: number },
): boolean {
  return firstTradeMs(plan, window) < startedMs || window.endMs < nowMs
}

/**
 * Whether all markets before this one are listed with it. A market that opens a day ahead is listed on its own, so
 * markets before it may still be unknown.
 */
export function isListedWithAll(plan: PredictionPlan, window: MarketWindow, nowMs: number): boolean {
  const lengthMs = window.endMs - window.startMs
  return !plan.hasTokens || window.startMs <= nowMs + plan.followed.beforeMs + lengthMs
}

export const isRunning = ({ startMs, endMs }: MarketWindow, timeMs: number, beforeMs = 0): boolean =>
  startMs - beforeMs <= timeMs && timeMs < endMs
