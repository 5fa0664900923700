/**
 * Whether every market in its window has a live book, duration by duration, and whether we know all markets.
 *
 *   a book is missing                             ──▶ the snapshots of its duration have a gap
 *   the catalogue is silent, and the last window
 *   of a duration that was listed is over         ──▶ snapshots of the duration, prints and bars have a gap
 */
import { MARKET_TYPES, type MarketType } from '../core/rows/market.ts'
import type { AssetSymbol } from '../core/symbol.ts'
import { catalogueKey, windowsKey } from './market-plans.ts'
import type { MarketRecorder } from './record-market.ts'
import { GRACE_MS } from './sample-market.ts'
import type { CoverageTracker } from './track-coverage.ts'

/** Lists come every half minute: after so long without one, a window may have begun that nobody has seen. */
export const LISTED_WITHIN_MS = 2 * 60_000

export interface WindowsJudge {
  /** There is a market of this duration, and it ends then. */
  knows(type: MarketType | null, endMs: number): void
  judge(nowMs: number, listedMs: number): void
}

export function judgeWindows(options: {
  symbol: AssetSymbol
  tracker: Pick<CoverageTracker, 'up' | 'failed' | 'isUp'>
  /** Markets of a duration that are in their window. */
  running: (timeMs: number, type: MarketType) => readonly MarketRecorder[]
}): WindowsJudge {
  const { symbol, tracker } = options
  /** Per duration: until when windows are known. */
  const knownToMs = new Map<MarketType, number>()

  /** Since when there may be windows of a duration that nobody has seen, because the catalogue does not answer. */
  function blindSince(type: MarketType, listedMs: number, atMs: number): number {
    const knownMs = knownToMs.get(type)
    if (knownMs === undefined || knownMs > atMs || atMs - listedMs <= LISTED_WITHIN_MS)
      return Number.POSITIVE_INFINITY
    return Math.max(knownMs, listedMs)
  }

  return {
    knows(type, endMs) {
      if (type !== null) knownToMs.set(type, Math.max(knownToMs.get(type) ?? 0, endMs))
    },
    judge(nowMs, listedMs) {
      const atMs = nowMs - GRACE_MS
      let unseenMs = Number.POSITIVE_INFINITY
      for (const type of MARKET_TYPES) {
        const key = windowsKey(symbol, type)
        const broken = options.running(atMs, type).filter(({ sampler }) => !sampler.isLive)
        const blindMs = blindSince(type, listedMs, atMs)
        unseenMs = Math.min(unseenMs, blindMs)
        const sinceMs = Math.min(
          blindMs,
          ...broken.map(({ sampler, startMs }) => Math.max(startMs, sampler.lostSinceMs ?? startMs)),
        )
        if (sinceMs === Number.POSITIVE_INFINITY) tracker.up(key, nowMs)
        else if (tracker.isUp(key))
          tracker.failed(key, sinceMs, blindMs === sinceMs ? 'venue_down' : 'not_observed')
      }
      const key = catalogueKey(symbol)
      if (unseenMs === Number.POSITIVE_INFINITY) tracker.up(key, nowMs)
      else if (tracker.isUp(key)) tracker.failed(key, unseenMs, 'venue_down')
    },
  }
}
