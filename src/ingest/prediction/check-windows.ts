/**
 * Checks, duration by duration, whether every market in its window has a live book, and whether all markets are known.
 *
 *   a book is missing                             ──▶ the snapshots of its duration have a gap
 *   a book turned out to have been wrong          ──▶ a gap too, although it is known again or its window is over
 *   a book is crossed, and stays so               ──▶ a gap, because it gives no samples
 *   a market is listed after its window began     ──▶ a gap from its start on
 *   the catalogue is silent, and the last listed
 *   window of a duration is over                  ──▶ snapshots of the duration, trades and candles have a gap
 *   the catalogue answers, but lists no successor
 *   of a window that must have one                ──▶ the same; snapshots alone if none was ever listed
 *   a window begins, and the one before it was
 *   never listed                                  ──▶ the same, as soon as it begins
 *   a list has an unknown market of a duration
 *   that cannot be read                           ──▶ the same, for as long as the list has it
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

/** Lists come every half minute; after this long without one, an unknown window may have begun. */
export const LISTED_WITHIN_MS = 2 * 60_000

/** The frames of one change arrive one by one, so a book may be crossed for a moment, but not for longer than this. */
const CROSSED_FOR_MS = 5_000

/** A successor is listed before the window ends, or with the next list. */
const SUCCESSOR_WITHIN_MS = 2 * 60_000

/** When a window began, by its middle: a venue may open and close it some seconds off the full minute. */
export function windowStart(type: MarketType, endMs: number): number {
  const interval = storedInterval(type)
  return candleStart(endMs - INTERVAL_MS[interval] / 2, interval)
}

export type WindowChecker = ReturnType<typeof checkWindows>

export function checkWindows(options: {
  symbol: AssetSymbol
  /** Durations of which a window is always running. */
  endless: readonly MarketType[]
  tracker: Pick<CoverageTracker, 'up' | 'failed' | 'isUp' | 'lost' | 'unproven'>
  feedOf: (type: MarketType) => Feed<'snapshots'>
  /** Returns at least the markets whose books are sampled at an instant. */
  markets: (atMs: number) => readonly MarketRecorder[]
}) {
  const { symbol, tracker } = options
  /** Per duration: the end of the last known window. */
  const knownToMs = new Map<MarketType, number>()
  /** Per endless duration: the starts of the listed windows, and the first instant for which no window is listed. */
  const listedStarts = new Map(options.endless.map((type) => [type, new Set<number>()]))
  const listedToMs = new Map<MarketType, number>()
  /** Per duration: since when lists contain markets that cannot be read. Any of them may be running and traded. */
  const unreadSince = new Map<MarketType, number>()
  let firstMs: number | undefined
  const lacking = new Set<MarketType>()
  let unlisted = 0
  /** When the books were last checked, and which markets were. */
  let lookedMs: number | undefined
  const seen = new WeakSet<MarketRecorder>()
  /** Since when the book of a market was wrong before it was lost, as far as its gap is recorded. */
  const wrongSince = new WeakMap<MarketRecorder, number>()

  /** Since when there may be unknown windows of a duration, because the catalogue does not answer. */
  function blindSince(type: MarketType, listedMs: number, atMs: number): number {
    const knownMs = knownToMs.get(type)
    if (knownMs === undefined || knownMs > atMs || atMs - listedMs <= LISTED_WITHIN_MS)
      return Number.POSITIVE_INFINITY
    return Math.max(knownMs, listedMs)
  }

  /**
   * Since when a window of a duration should be running although the catalogue lists none. A window that is listed late
   * is requested as a whole; one that ended before it was listed is not, so its time is lost once the next one runs.
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

  /** Records the gaps of books that turned out to be wrong; returns since when each affected duration lacks a book. */
  function lookAtBooks(atMs: number): Map<MarketType, number> {
    const brokenSince = new Map<MarketType, number>()
    /** By duration and end, because hundreds of contracts may be lost at once. */
    const wrong = new Map<string, { type: MarketType; fromMs: number; toMs: number }>()
    for (const recorder of options.markets(atMs)) {
      const { sampler, startMs, endMs } = recorder
      const type = recorder.market.marketType
      if (type == null) continue
      // Also for a window that is over, because its book may be known again only after its end.
      for (const doubt of sampler.takeDoubts()) {
        const fromMs = Math.max(startMs - SAMPLE_BEFORE_MS, doubt.fromMs)
        const toMs = Math.min(endMs, doubt.toMs)
        if (fromMs < toMs) tracker.lost(options.feedOf(type), fromMs, toMs, 'not_observed')
      }
      const { wrongSinceMs } = sampler
      // It may never be known again. If another book of the duration was lost before, nothing else records this.
      if (wrongSinceMs !== undefined && wrongSince.get(recorder) !== wrongSinceMs) {
        wrongSince.set(recorder, wrongSinceMs)
        const fromMs = Math.max(startMs - SAMPLE_BEFORE_MS, wrongSinceMs)
        const toMs = Math.min(endMs, atMs)
        const before = wrong.get(`${type}:${toMs}`)
        wrong.set(`${type}:${toMs}`, { type, fromMs: Math.min(before?.fromMs ?? fromMs, fromMs), toMs })
      }
      // Samples are also taken some time before the window.
      if (!isRunning(recorder, atMs, SAMPLE_BEFORE_MS)) continue
      // If the market became known only now, nothing was sampled before, however soon its book arrives.
      const isLate = lookedMs !== undefined && startMs < lookedMs && !seen.has(recorder)
      seen.add(recorder)
      const { crossedSinceMs = Number.POSITIVE_INFINITY } = sampler
      const isCrossed = atMs - crossedSinceMs > CROSSED_FOR_MS
      if ((sampler.isLive && !isCrossed && !isLate) || !isRunning(recorder, atMs)) continue
      const lostMs = isLate ? firstMs : isCrossed ? crossedSinceMs : sampler.lostSinceMs
      const sinceMs = Math.max(startMs, lostMs ?? startMs)
      brokenSince.set(type, Math.min(brokenSince.get(type) ?? sinceMs, sinceMs))
    }
    for (const { type, fromMs, toMs } of wrong.values()) tracker.unproven(options.feedOf(type), fromMs, toMs)
    lookedMs = atMs
    return brokenSince
  }

  return {
    /** How often a window that should have been running was not listed. */
    get unlisted() {
      return unlisted
    },
    /** A market of this duration exists and ends at this instant. */
    knows(type: MarketType | null, endMs: number) {
      if (type === null) return
      knownToMs.set(type, Math.max(knownToMs.get(type) ?? 0, endMs))
      listedStarts.get(type)?.add(windowStart(type, endMs))
    },
    /** The last list contains unknown markets of these durations that cannot be read. */
    unread(types: readonly MarketType[], nowMs: number) {
      for (const type of unreadSince.keys()) if (!types.includes(type)) unreadSince.delete(type)
      for (const type of types) if (!unreadSince.has(type)) unreadSince.set(type, nowMs)
    },
    /**
     * Whether windows of every duration that the venue has are known up to an instant. Otherwise an unlisted window may
     * be traded.
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
        const unreadMs = unreadSince.get(type) ?? Number.POSITIVE_INFINITY
        if (blindMs < Number.POSITIVE_INFINITY) isDown = true
        else if (unlistedMs === Number.POSITIVE_INFINITY) lacking.delete(type)
        else if (!lacking.has(type)) {
          lacking.add(type)
          unlisted += 1
        }
        // A duration that was never listed may not exist, so it causes no other gap.
        unseenMs = Math.min(
          ...[unseenMs, blindMs, unreadMs],
          knownToMs.has(type) ? unlistedMs : Number.POSITIVE_INFINITY,
        )
        const brokenMs = brokenSince.get(type) ?? Number.POSITIVE_INFINITY
        const sinceMs = Math.min(blindMs, unlistedMs, unreadMs, brokenMs)
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
