/**
 * Seconds built from trades without numbers. Nothing but the venue's own count of the minute can close them:
 *
 *   as many as we have, or fewer          ──▶ closed
 *   more                                  ──▶ waits for `lateTradesMs`, then the minute is a gap in trades and seconds
 *   not known                             ──▶ as if there were more
 *   a known gap in the minute             ──▶ the seconds outside it are closed, unless the count shows that the
 *                                             trades of the gap were all sent again
 */
import type { Feed } from '../../core/feed.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { BuiltSeconds } from './built-seconds.ts'
import { putSeconds, type SecondCloser, type WaitingMinute } from './close-seconds.ts'
import type { UnclosedTrades } from './resume.ts'
import type { SymbolParts } from './symbol-parts.ts'

const MINUTE_MS = 60_000

export function closeCountedSeconds(parts: SymbolParts, left?: UnclosedTrades): SecondCloser {
  const { plan, symbol, writer, tracker, counts, clock } = parts
  const feed = candleFeed(plan.source, symbol, '1s')
  const feeds: Feed[] = plan.hasTrades ? [feed, feedOf('trades', plan.source, symbol)] : [feed]
  const built = new BuiltSeconds()
  let waiting: WaitingMinute[] = []
  /** Empty trades, by their minute. */
  const empties = new Map<number, number>()
  if (left !== undefined) built.resume(left)

  /** False while more trades are waited for. */
  function closeMinute({ openMs, count }: WaitingMinute, nowMs: number): boolean {
    const endMs = openMs + MINUTE_MS
    const verdict = judgeCount({
      count,
      stored: built.ofMinute(openMs).reduce((sum, candle) => sum + candle.count, 0),
      empty: empties.get(openMs) ?? 0,
      isInGap: built.inGap(openMs, endMs),
      isOverdue: nowMs >= endMs + plan.lateTradesMs,
    })
    if (verdict === 'wait') return false
    // After a start the venue sends the last trades again: of a second that was closed before, only some of them.
    const candles = built.take(endMs).filter((candle) => candle.openMs >= openMs)
    if (verdict === 'lost') {
      counts.missedMinutes += 1
      for (const each of feeds) tracker.lost(each, openMs, endMs, 'not_observed')
      return true
    }
    if (verdict === 'more') counts.differences += 1
    putSeconds(parts, verdict === 'broken' ? built.outsideGaps(candles) : candles, true)
    for (const each of feeds) {
      if (verdict !== 'broken') tracker.confirm(each, openMs, endMs)
      writer.final(each, endMs)
    }
    return true
  }

  return {
    receive() {},
    trade(trade) {
      if (!built.add(trade)) counts.lateTrades += 1
    },
    empty(timeMs) {
      const minuteMs = Math.floor(timeMs / MINUTE_MS) * MINUTE_MS
      empties.set(minuteMs, (empties.get(minuteMs) ?? 0) + 1)
    },
    gap: (fromMs, toMs) => built.gap(fromMs, toMs),
    begin: (atMs) => built.begin(atMs),
    show: () => putSeconds(parts, built.changed(), false),
    minutes(candles, unknown, range) {
      waiting.push(...built.minutesOf(candles, unknown, range, clock.now()))
    },
    async close(nowMs) {
      while (waiting[0] !== undefined && closeMinute(waiting[0], nowMs)) {
        for (const minuteMs of empties.keys()) if (minuteMs <= waiting[0].openMs) empties.delete(minuteMs)
        waiting = waiting.slice(1)
      }
    },
    // The venue cannot be requested again, so nothing is left to the backfill.
    closedToMs: undefined,
  }
}

/** Judges the stored trades of a minute by the venue's count. */
export function judgeCount(minute: {
  /** Undefined where it is not known: nothing proves that the stored trades are all. */
  readonly count: number | undefined
  readonly stored: number
  /** Empty trades, which the venue may or may not count. */
  readonly empty: number
  readonly isInGap: boolean
  /** Whether late trades are no longer waited for. */
  readonly isOverdue: boolean
}): 'whole' | 'more' | 'broken' | 'wait' | 'lost' {
  const { count, stored } = minute
  if (count === undefined) return minute.isInGap ? 'broken' : minute.isOverdue ? 'lost' : 'wait'
  const own = stored < count ? Math.min(stored + minute.empty, count) : stored
  // A new subscription may have sent the missed trades again: the venue's own count is the proof.
  if (own === count && (count > 0 || !minute.isInGap)) return 'whole'
  if (minute.isInGap) return 'broken'
  if (own > count) return 'more'
  return minute.isOverdue ? 'lost' : 'wait'
}
