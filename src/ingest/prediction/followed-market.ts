/**
 * A market that is followed, and how much of its trades is known.
 *
 *   may have rows already ──▶ being restored ──▶ ready, restored
 *                                       ╰─failed─▶ ready, not restored
 *   begins later          ──▶ ready, restored
 *   ready ──all of its trades received after its close──▶ swept ──half an hour after its end──▶ dropped
 *        ╰──never swept──a day after its end──▶ dropped
 */
import type { MarketWindow } from './market-times.ts'
import type { MarketRecorder } from './record-market.ts'

/** By then the last sweep of a market is over, so its recorder can be dropped. */
const KEPT_AFTER_END_MS = 30 * 60_000
/** After a day without a sweep a market is given up. */
const SWEPT_WITHIN_MS = 25 * 3_600_000
/**
 * Trades that the stream lost are found by a round over all markets, every few minutes, and by the sweeps until a
 * quarter of an hour after the close; later where the venue is down.
 */
const TRADES_FINAL_AFTER_MS = 16 * 60_000

export interface MarketProgress {
  readonly window: MarketWindow
  /** It was listed only after its end, so the venue's own sweeps may not know it. */
  readonly isListedLate: boolean
  /** What an earlier run stored and the venue listed is counted. */
  isReady: boolean
  /** What was traded before this run is known. */
  isRestored: boolean
  /** All of its trades were received after its close. */
  isSwept: boolean
}

export interface FollowedMarket extends MarketProgress {
  readonly recorder: MarketRecorder
  readonly followedMs: number
  /** As it was listed first: one that moves says nothing of the windows after it. */
  readonly firstEndMs: number
  /** Resolves when everything received so far is counted. */
  ready: Promise<void>
}

/** It ended unrecorded or unlisted, or its past could not be requested: only its own sweep is complete. */
export const needsOwnSweep = (
  { window, isListedLate, isRestored }: MarketProgress,
  startedMs: number,
): boolean => window.endMs < startedMs || isListedLate || !isRestored

/** Whether its recorder is no longer needed. */
export const isDone = ({ window, isReady, isSwept }: MarketProgress, nowMs: number): boolean =>
  isReady && nowMs >= window.endMs + (isSwept ? KEPT_AFTER_END_MS : SWEPT_WITHIN_MS)

/** No trade before this will be found. */
export function tradesFinalMs(state: {
  readonly markets: Iterable<MarketProgress>
  /** All trades before this were received, of every market that the venue lists. */
  readonly sweptToMs: number
  /** Without an earlier run, what was traded before this one is not recorded and not waited for. */
  readonly hasEarlierRun: boolean
  readonly startedMs: number
  readonly nowMs: number
  readonly firstTradeMs: (window: MarketWindow) => number
}): number {
  const { startedMs, nowMs } = state
  const unswept = [...state.markets]
    .filter(
      (market) =>
        (state.hasEarlierRun || market.isListedLate) &&
        needsOwnSweep(market, startedMs) &&
        !market.isSwept &&
        nowMs < market.window.endMs + SWEPT_WITHIN_MS,
    )
    .map(({ window }) => state.firstTradeMs(window))
  return Math.max(0, Math.min(nowMs - TRADES_FINAL_AFTER_MS, state.sweptToMs, ...unswept))
}
