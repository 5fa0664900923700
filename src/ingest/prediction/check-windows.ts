/**
 * Whether every market in its window has a live book, duration by duration, and whether we know all markets.
 *
 *   a book is missing                             ──▶ the snapshots of its duration have a gap
 *   a book turned out to have been wrong          ──▶ a gap too, though it is known again
 *   a book is crossed, and stays so               ──▶ a gap, since it gives no samples
 *   a market is listed after its window began     ──▶ a gap from its beginning on
 *   the catalogue is silent, and the last window
 *   of a duration that was listed is over         ──▶ snapshots of the duration, trades and candles have a gap
 *   the catalogue answers, and lists no successor
 *   of a window that must have one                ──▶ the same; snapshots alone where none was ever listed
 *   a window begins, and the one before it was
 *   never listed                                  ──▶ the same, as soon as it begins
 */
import type { Feed } from '../../core/feed.ts'
import { candleStart, INTERVAL_MS, storedInterval } from '../../core/interval.ts'
import { MARKET_TYPES, type MarketType } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { gridOf } from '../shared/sample-grid.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import { catalogueKey, windowsKey } from './market-feeds.ts'
import { isRunning, SAMPLE_BEFORE_MS } from './market-times.ts'
import type { MarketRecorder } from './record-market.ts'
import { SAMPLE_GRACE_MS } from './sample-market.ts'

/** Lists come every half minute: after this time without one, an unknown window may have begun. */
export const LISTED_WITHIN_MS = 2 * 60_000

/** The frames of one change come one by one; longer than this they do not. */
const CROSSED_FOR_MS = 5_000

/** A successor is listed before the window ends, or with the next list. */
const SUCCESSOR_WITHIN_MS = 2 * 60_000

export type WindowChecker = ReturnType<typeof checkWindows>

export function checkWindows(options: {
  symbol: AssetSymbol
  /** Durations of which a window always runs. */
  endless: readonly MarketType[]
  tracker: Pick<CoverageTracker, 'up' | 'failed' | 'isUp' | 'lost'>
  feedOf: (type: MarketType) => Feed<'snapshots'>
  /** At least those whose books are sampled at an instant. */
  markets: (atMs: number) => readonly MarketRecorder[]
}) {
  const { symbol, tracker } = options
  /** Per duration: until when windows are known. */
  const knownToMs = new Map<MarketType, number>()
  /** Per endless duration: the listed windows by their start, and the first instant of which no window is listed. */
  const listedStarts = new Map(options.endless.map((type) => [type, new Set<number>()]))
  const listedToMs = new Map<MarketType, number>()
  let firstMs: number | undefined
  const lacking = new Set<MarketType>()
  let unlisted = 0
  /** When the books were looked at last, and which of them. */
  let lookedMs: number | undefined
  const seen = new WeakSet<MarketRecorder>()

  /** Since when there may be unknown windows of a duration, because the catalogue does not answer. */
  function blindSince(type: MarketType, listedMs: number, atMs: number): number {
    const knownMs = knownToMs.get(type)
    if (knownMs === undefined || knownMs > atMs || atMs - listedMs <= LISTED_WITHIN_MS)
      return Number.POSITIVE_INFINITY
    return Math.max(knownMs, listedMs)
  }

  /**
   * Since when there should be a window of a duration, though the catalogue lists none. A window that is listed late is
   * requested as a whole; one that was over before it was listed is not, so its time is lost once the next one runs.
   */
  function unlistedSince(type: MarketType, atMs: number, nowMs: number): number {
    const starts = listedStarts.get(type)
    if (starts === undefined) return Number.POSITIVE_INFINITY
    const interval = storedInterval(type)
    let sinceMs = listedToMs.get(type) ?? nowMs
    while (starts.has(candleStart(sinceMs, interval)))
      sinceMs = candleStart(sinceMs, interval) + INTERVAL_MS[interval]
    for (const startMs of starts)
      if (startMs + INTERVAL_MS[interval] < Math.min(sinceMs, atMs)) starts.delete(startMs)
    const runningMs = candleStart(atMs, interval)
    const isOver = runningMs > sinceMs && starts.has(runningMs)
    listedToMs.set(type, isOver ? atMs : sinceMs)
    return isOver || atMs - sinceMs > SUCCESSOR_WITHIN_MS ? sinceMs : Number.POSITIVE_INFINITY
  }

  /** Records the gaps of books that turned out to be wrong; gives since when a duration lacks one, where it does. */
  function lookAtBooks(atMs: number): Map<MarketType, number> {
    const brokenSince = new Map<MarketType, number>()
    for (const recorder of options.markets(atMs)) {
      const { sampler, startMs, endMs } = recorder
      const type = recorder.market.marketType
      if (type == null) continue
      // Also of a window that is over: its book may be known again only after its end.
      for (const doubt of sampler.takeDoubts()) {
        const fromMs = Math.max(startMs - SAMPLE_BEFORE_MS, doubt.fromMs)
        const toMs = Math.min(endMs, doubt.toMs)
        if (fromMs < toMs) tracker.lost(options.feedOf(type), fromMs, toMs, 'not_observed')
      }
      // Samples are taken some time before the window too.
      if (!isRunning(recorder, atMs, SAMPLE_BEFORE_MS)) continue
      // Of one that is known only now nothing was sampled before, however soon its book is there.
      const isLate = lookedMs !== undefined && startMs < lookedMs && !seen.has(recorder)
      seen.add(recorder)
      const { crossedSinceMs = Number.POSITIVE_INFINITY } = sampler
      const isCrossed = atMs - crossedSinceMs > CROSSED_FOR_MS
      if ((sampler.isLive && !isCrossed && !isLate) || !isRunning(recorder, atMs)) continue
      const lostMs = isLate ? firstMs : isCrossed ? crossedSinceMs : sampler.lostSinceMs
      const sinceMs = Math.max(startMs, lostMs ?? startMs)
      brokenSince.set(type, Math.min(brokenSince.get(type) ?? sinceMs, sinceMs))
    }
    lookedMs = atMs
    return brokenSince
  }

  return {
    /** How often a window that should have run was not listed. */
    get unlisted() {
      return unlisted
    },
    /** There is a market of this duration, and it ends then. */
    knows(type: MarketType | null, endMs: number) {
      if (type === null) return
      knownToMs.set(type, Math.max(knownToMs.get(type) ?? 0, endMs))
      const interval = storedInterval(type)
      // By its middle: a venue may open and close a window some seconds from the full minute.
      listedStarts.get(type)?.add(candleStart(endMs - INTERVAL_MS[interval] / 2, interval))
    },
    /**
     * Whether windows are known up to an instant, of every duration that the venue has. While they are not, one that it
     * does not list may be traded.
     */
    isKnownTo: (toMs: number) => options.endless.every((type) => (knownToMs.get(type) ?? toMs) >= toMs),
    judge(nowMs: number, listedMs: number) {
      const atMs = nowMs - SAMPLE_GRACE_MS
      firstMs ??= atMs
      const brokenSince = lookAtBooks(atMs)
      let unseenMs = Number.POSITIVE_INFINITY
      let isDown = false
      for (const type of MARKET_TYPES) {
        const key = windowsKey(symbol, type)
        const blindMs = blindSince(type, listedMs, atMs)
        const unlistedMs = unlistedSince(type, atMs, nowMs)
        if (blindMs < Number.POSITIVE_INFINITY) isDown = true
        else if (unlistedMs === Number.POSITIVE_INFINITY) lacking.delete(type)
        else if (!lacking.has(type)) {
          lacking.add(type)
          unlisted += 1
        }
        // A duration that was never listed may not exist: then it causes no other gap.
        unseenMs = Math.min(unseenMs, blindMs, knownToMs.has(type) ? unlistedMs : Number.POSITIVE_INFINITY)
        const brokenMs = brokenSince.get(type) ?? Number.POSITIVE_INFINITY
        const sinceMs = Math.min(blindMs, unlistedMs, brokenMs)
        // The first row after a gap is on the grid.
        if (sinceMs === Number.POSITIVE_INFINITY) tracker.up(key, gridOf(nowMs))
        else if (tracker.isUp(key))
          tracker.failed(key, sinceMs, blindMs === sinceMs ? 'venue_down' : 'not_observed')
      }
      const key = catalogueKey(symbol)
      if (unseenMs === Number.POSITIVE_INFINITY) tracker.up(key, nowMs)
      else if (tracker.isUp(key)) tracker.failed(key, unseenMs, isDown ? 'venue_down' : 'not_observed')
    },
  }
}
