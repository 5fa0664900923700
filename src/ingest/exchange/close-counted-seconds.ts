/**
 * Seconds built from trades without numbers. Nothing but the venue's own count of the minute can close them:
 *
 *   as many as we have, or fewer          ──▶ closed; a known gap in the minute is none, if its trades were all sent again
 *   more                                  ──▶ waits for `lateTradesMs`; then what of the minute has no other proof
 *                                             (prove-parts.ts) is a gap in trades and seconds
 *   not known                             ──▶ as if there were more
 *
 * Some venues count trades of size 0, some do not. One makes up for a trade that the venue counts and we lack only where
 * our volume is the venue's: else the one that we lack was a real one.
 */
import { add, compare, type Decimal, ZERO } from '../../core/decimal.ts'
import type { Feed } from '../../core/feed.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { BuiltSeconds } from './built-seconds.ts'
import type { Candle } from './candle.ts'
import { MAX_MINUTES_AT_ONCE, putSeconds, type SecondCloser, type WaitingMinute } from './close-seconds.ts'
import { MinuteParts } from './prove-parts.ts'
import type { UnclosedTrades } from './resume.ts'
import type { SymbolParts } from './symbol-parts.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

export function closeCountedSeconds(parts: SymbolParts, left?: UnclosedTrades): SecondCloser {
  const { plan, symbol, writer, tracker, counts, clock } = parts
  const feed = candleFeed(plan.source, symbol, '1s')
  const trades = feedOf('trades', plan.source, symbol)
  const feeds: Feed[] = plan.hasTrades ? [feed, trades] : [feed]
  const built = new BuiltSeconds()
  let waiting: WaitingMinute[] = []
  /** Empty trades, by their minute. */
  const empties = new Map<number, number>()
  const proof = new MinuteParts()
  if (left !== undefined) {
    built.resume(left)
    for (const trade of left.trades) proof.trade(trade)
  }

  /** False while more trades are waited for. */
  function closeMinute(minute: WaitingMinute, nowMs: number): boolean {
    const { openMs, count } = minute
    const endMs = openMs + MINUTE_MS
    const own = built.ofMinute(openMs)
    const verdict = judgeCount({
      count,
      stored: own.reduce((sum, candle) => sum + candle.count, 0),
      empty: hasVolume(own, minute.volume) ? (empties.get(openMs) ?? 0) : 0,
      isInGap: built.inGap(openMs, endMs),
      isOverdue: nowMs >= endMs + plan.lateTradesMs,
    })
    if (verdict === 'wait') return false
    // After a start the venue sends the last trades again: of a second that was closed before, only some of them.
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

  /** Nothing proves any more that none of their trades is missing. */
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
    // The venue cannot be requested again, so nothing is left to the backfill.
    closedToMs: undefined,
  }
}

function hasVolume(candles: readonly Candle[], volume: Decimal | undefined): boolean {
  const own = candles.reduce((sum, candle) => add(sum, candle.volume), ZERO)
  return volume !== undefined && compare(own, volume) === 0
}

type CountVerdict =
  | 'whole'
  /** More than the venue counts. */
  | 'more'
  /** None is missing outside the known gaps. */
  | 'broken'
  | 'wait'
  /** Some are missing. */
  | 'lost'

/** Judges the stored trades of a minute by the venue's count. */
export function judgeCount(minute: {
  /** Undefined where it is not known: nothing proves that the stored trades are all. */
  readonly count: number | undefined
  readonly stored: number
  /** Empty trades, which the venue may or may not count; none where volume is missing. */
  readonly empty: number
  readonly isInGap: boolean
  /** Whether late trades are no longer waited for. */
  readonly isOverdue: boolean
}): CountVerdict {
  const { count, stored } = minute
  const own = Math.min(stored + minute.empty, count ?? Number.POSITIVE_INFINITY)
  if (count === undefined || own < count) return minute.isOverdue ? 'lost' : 'wait'
  // A new subscription may have sent the missed trades again: the venue's own count is the proof.
  if (stored <= count && (count > 0 || !minute.isInGap)) return 'whole'
  return minute.isInGap ? 'broken' : 'more'
}
