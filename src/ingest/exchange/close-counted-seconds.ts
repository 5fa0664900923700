/**
 * Seconds built from trades without numbers. Only the venue's own count of the minute can close them:
 *
 *   as many as we have, or fewer          ──▶ closed; a known gap in the minute is closed too, if all its trades were
 *                                             sent again
 *   more                                  ──▶ waits for `lateTradesMs`; then the part of the minute without another
 *                                             proof (prove-parts.ts) is a gap in trades and seconds
 *   unknown                               ──▶ treated as more
 *
 * Some venues count trades of size 0, others do not. Such a trade can account for a difference in the counts only if
 * our volume equals the venue's; otherwise the trade that we lack was a real one. They are not stored, so after a restart
 * their number is unknown for the minutes that had begun, and an equal volume alone is the proof.
 */
import { add, compare, type Decimal, ZERO } from '../../core/decimal.ts'
import type { Feed } from '../../core/feed.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import type { DerivativesProgress } from './await-derivatives.ts'
import { BuiltSeconds } from './built-seconds.ts'
import type { Candle } from './candle.ts'
import { MAX_MINUTES_AT_ONCE, putSeconds, type SecondCloser, type WaitingMinute } from './close-seconds.ts'
import { MinuteParts } from './prove-parts.ts'
import type { UnclosedTrades } from './resume.ts'
import type { SymbolParts } from './symbol-parts.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

export function closeCountedSeconds(
  parts: SymbolParts,
  joined: Pick<DerivativesProgress, 'unknownFrom'>,
  left?: UnclosedTrades,
): SecondCloser {
  const { plan, symbol, writer, tracker, counts, clock } = parts
  const feed = candleFeed(plan.source, symbol, '1s')
  const trades = feedOf('trades', plan.source, symbol)
  const feeds: Feed[] = plan.hasTrades ? [feed, trades] : [feed]
  const built = new BuiltSeconds()
  let waiting: WaitingMinute[] = []
  /** Number of empty trades, by minute. */
  const empties = new Map<number, number>()
  const resumedMs = left === undefined ? Number.NEGATIVE_INFINITY : clock.now()
  const emptiesOf = (openMs: number) =>
    openMs < resumedMs ? Number.POSITIVE_INFINITY : (empties.get(openMs) ?? 0)
  const proof = new MinuteParts()
  if (left !== undefined) {
    built.resume(left)
    for (const trade of left.trades) proof.trade(trade)
  }

  /** Returns false while the minute waits for its rate or for more trades. */
  function closeMinute(minute: WaitingMinute, nowMs: number): boolean {
    const { openMs, count } = minute
    const endMs = openMs + MINUTE_MS
    // Nothing can rebuild these seconds later, so they wait for their rate, however long requests for it fail.
    if (joined.unknownFrom(SECOND_MS) < endMs) return false
    const own = built.ofMinute(openMs)
    const verdict = judgeCount({
      count,
      stored: own.reduce((sum, candle) => sum + candle.count, 0),
      empty: hasVolume(own, minute.volume) ? emptiesOf(openMs) : 0,
      isInGap: built.inGap(openMs, endMs),
      isOverdue: nowMs >= endMs + plan.lateTradesMs,
    })
    if (verdict === 'wait') return false
    // After a start the venue sends its last trades again, but only some of those of a second that was closed before.
    const candles = built.take(endMs).filter((candle) => candle.openMs >= openMs)
    if (verdict === 'lost') closeProvenParts(minute, candles)
    else putSeconds(parts, verdict === 'broken' ? built.outsideGaps(candles) : candles, true)
    if (verdict === 'more') counts.differences += 1
    for (const each of feeds) {
      if (verdict === 'whole' || verdict === 'more') tracker.confirm(each, openMs, endMs)
      writer.final(each, endMs)
    }
    proof.forget(endMs)
    return true
  }

  function closeProvenParts(minute: WaitingMinute, candles: readonly Candle[]): void {
    const unproven = proof.unproven(minute)
    const fromMs = Math.floor(unproven.fromMs / SECOND_MS) * SECOND_MS
    const toMs = Math.ceil(unproven.toMs / SECOND_MS) * SECOND_MS
    counts.missedMinutes += 1
    const proven = candles.filter(({ openMs }) => openMs < fromMs || openMs >= toMs)
    putSeconds(parts, built.outsideGaps(proven), true)
    tracker.unproven(feed, fromMs, toMs)
    if (plan.hasTrades) tracker.unproven(trades, unproven.fromMs, unproven.toMs)
  }

  /** Drops the oldest seconds, because nothing can prove any more that their trades are complete. */
  function dropOldest(): void {
    const lost = built.dropOldest()
    if (lost === undefined) return
    proof.forget(lost.toMs)
    for (const minuteMs of empties.keys()) if (minuteMs < lost.toMs) empties.delete(minuteMs)
    for (const each of feeds) tracker.lost(each, lost.fromMs, lost.toMs, 'not_observed')
  }

  return {
    receive() {},
    trade(trade) {
      if (built.add(trade)) proof.trade(trade)
      else counts.lateTrades += 1
    },
    minute: (candle, receivedMs) => proof.show(candle, receivedMs),
    empty(timeMs) {
      proof.giveUp(timeMs)
      const minuteMs = Math.floor(timeMs / MINUTE_MS) * MINUTE_MS
      empties.set(minuteMs, (empties.get(minuteMs) ?? 0) + 1)
    },
    gap: (fromMs, toMs) => built.gap(fromMs, toMs),
    begin: (atMs) => built.begin(atMs),
    show() {
      dropOldest()
      putSeconds(parts, built.changed(), false)
    },
    minutes(candles, unknown, range) {
      waiting.push(...built.minutesOf(candles, unknown, range, clock.now()))
    },
    async close(nowMs) {
      for (let closed = 0; closed < MAX_MINUTES_AT_ONCE; closed++) {
        const [next] = waiting
        if (next === undefined || !closeMinute(next, nowMs)) return
        for (const minuteMs of empties.keys()) if (minuteMs <= next.openMs) empties.delete(minuteMs)
        waiting = waiting.slice(1)
      }
    },
    // These trades cannot be requested from the venue again, so nothing is left to the backfill.
    closedToMs: undefined,
  }
}

function hasVolume(candles: readonly Candle[], volume: Decimal | undefined): boolean {
  const own = candles.reduce((sum, candle) => add(sum, candle.volume), ZERO)
  return volume !== undefined && compare(own, volume) === 0
}

type CountVerdict =
  | 'whole'
  /** We have more trades than the venue counts. */
  | 'more'
  /** No trade is missing outside the known gaps. */
  | 'broken'
  | 'wait'
  /** Trades are missing. */
  | 'lost'

/** Judges the stored trades of a minute by the venue's count. */
export function judgeCount(minute: {
  /** Undefined if unknown: then nothing proves that the stored trades are complete. */
  readonly count: number | undefined
  readonly stored: number
  /**
   * Empty trades, which the venue may or may not count: infinite if their number is unknown, 0 if our volume differs
   * from the venue's.
   */
  readonly empty: number
  readonly isInGap: boolean
  /** Whether the wait for late trades is over. */
  readonly isOverdue: boolean
}): CountVerdict {
  const { count, stored } = minute
  const own = Math.min(stored + minute.empty, count ?? Number.POSITIVE_INFINITY)
  if (count === undefined || own < count) return minute.isOverdue ? 'lost' : 'wait'
  // A new subscription may have sent the missed trades again; the venue's own count then proves that all are there.
  if (stored <= count && (count > 0 || !minute.isInGap)) return 'whole'
  return minute.isInGap ? 'broken' : 'more'
}
