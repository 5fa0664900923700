/**
 * Seconds built from numbered trades. A trade that is `CLOSE_AFTER_MS` later than the end of a second closes it, if its
 * rate and open interest are known. All other seconds are closed with their minute, once that is proven
 * (prove-minutes.ts).
 */
import { candleFeed } from '../shared/feeds.ts'
import type { DerivativesProgress } from './await-derivatives.ts'
import { BuiltSeconds } from './built-seconds.ts'
import type { Candle } from './candle.ts'
import { MAX_MINUTES_AT_ONCE, putSeconds, type SecondCloser, type WaitingMinute } from './close-seconds.ts'
import { confirmSeconds } from './confirm-seconds.ts'
import type { MinuteProver } from './prove-minutes.ts'
import type { SymbolParts } from './symbol-parts.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/** Frames may arrive out of order, so the very next trade does not close a second yet. */
const CLOSE_AFTER_MS = 1_500
/** A late trade makes its second a gap only in one of the last minutes that our own trades closed; this many are kept. */
const MAX_WHOLE_MINUTES = 60
/** The request for the first trade succeeds or is abandoned within a minute or two, so few answers come before it. */
const MAX_EARLY = 10

const openOf = ({ openMs }: Candle) => openMs

export function closeNumberedSeconds(
  parts: SymbolParts,
  joined: Pick<DerivativesProgress, 'isKnown' | 'unknownFrom'>,
  prover: MinuteProver,
): SecondCloser {
  const { plan, symbol, tracker, counts, clock } = parts
  const feed = candleFeed(plan.source, symbol, '1s')
  const built = new BuiltSeconds()
  let waiting: WaitingMinute[] = []
  /** Answers received before the start of the trades was known; the minute of the first trade may be among them. */
  let early: Parameters<SecondCloser['minutes']>[] = []
  let closedToMs: number | undefined
  let newestMs = Number.NEGATIVE_INFINITY
  /** Open times of the seconds that are not closed. */
  const open = new Set<number>()
  /** Minutes that were closed with our own trades as complete. */
  const whole = new Set<number>()
  // Nothing counts as observed until it is known up to where trades are proven (record-symbol.ts).
  tracker.limit(feed, 0)

  const secondOf = (timeMs: number) => Math.floor(timeMs / SECOND_MS) * SECOND_MS

  function isOver(openMs: number): boolean {
    const endMs = openMs + SECOND_MS
    return newestMs >= endMs + CLOSE_AFTER_MS && joined.isKnown(endMs) && !built.inGap(openMs, endMs)
  }

  /** Returns false while the minute is not proven yet. */
  function closeMinute(minute: WaitingMinute, nowMs: number): boolean {
    const { openMs } = minute
    const endMs = openMs + MINUTE_MS
    const own = built.ofMinute(openMs)
    const verdict = prover.judge(minute, own, built.inGap(openMs, endMs), nowMs)
    if (verdict.kind === 'wait') return false
    const knownMs = Math.min(endMs, Math.max(openMs, joined.unknownFrom(SECOND_MS)))
    for (const candle of built.take(endMs)) open.delete(candle.openMs)
    if (verdict.kind === 'whole') {
      putSeconds(parts, verdict.candles, true)
      const seconds = { ours: own.map(openOf), answered: verdict.candles.map(openOf) }
      confirmSeconds(tracker, feed, { fromMs: openMs, toMs: knownMs }, seconds)
      if (verdict.candles === own) rememberWhole(openMs)
    } else closeProvenPart(own, openMs, verdict.provenMs)
    // As with longer candles, seconds without the rate or the open interest of their time are a gap.
    if (knownMs < endMs) tracker.lost(feed, knownMs, endMs, 'venue_down')
    parts.writer.final(feed, knownMs)
    closedToMs = endMs
    prover.forget(endMs)
    return true
  }

  function closeProvenPart(own: readonly Candle[], openMs: number, provenMs: number): void {
    const endMs = openMs + MINUTE_MS
    const lostMs = Math.max(openMs, Math.min(endMs, secondOf(provenMs)))
    counts.missedMinutes += 1
    putSeconds(parts, built.outsideGaps(own.filter((candle) => candle.openMs < lostMs)), true)
    tracker.unproven(feed, lostMs, endMs)
  }

  /** Drops the oldest seconds, which are then left to the backfill. */
  function dropOldest(): void {
    const lost = built.dropOldest()
    if (lost === undefined) return
    for (const openMs of open) if (openMs < lost.toMs) open.delete(openMs)
    prover.forget(lost.toMs)
    tracker.lost(feed, lost.fromMs, lost.toMs, 'not_observed')
  }

  function rememberWhole(openMs: number): void {
    whole.add(openMs)
    const [oldest] = whole
    if (whole.size > MAX_WHOLE_MINUTES && oldest !== undefined) whole.delete(oldest)
  }

  return {
    receive() {},
    trade(trade) {
      const openMs = secondOf(trade.timeMs)
      if (!built.add(trade)) {
        counts.lateTrades += 1
        // The second was closed as complete but was not, so it is a gap until the backfill has requested it.
        if (whole.has(Math.floor(openMs / MINUTE_MS) * MINUTE_MS))
          tracker.lost(feed, openMs, openMs + SECOND_MS, 'not_observed')
        return
      }
      prover.trade(trade)
      open.add(openMs)
      newestMs = Math.max(newestMs, trade.timeMs)
    },
    minute() {},
    empty() {},
    gap: (fromMs, toMs) => built.gap(fromMs, toMs),
    begin(atMs) {
      built.begin(atMs)
      for (const answer of early) this.minutes(...answer)
      early = []
    },
    show() {
      dropOldest()
      putSeconds(parts, built.changed(), false)
      const over = [...open].filter(isOver)
      putSeconds(
        parts,
        over.flatMap((openMs) => built.at(openMs) ?? []),
        true,
      )
      for (const openMs of over) open.delete(openMs)
    },
    minutes(candles, unknown, range) {
      if (!built.hasBegun) {
        early.push([candles, unknown, range])
        early = early.slice(-MAX_EARLY)
        return
      }
      waiting.push(...built.minutesOf(candles, unknown, range, clock.now()))
    },
    async close(nowMs) {
      for (let closed = 0; closed < MAX_MINUTES_AT_ONCE; closed++) {
        const [next] = waiting
        if (next === undefined || !closeMinute(next, nowMs)) return
        waiting = waiting.slice(1)
      }
    },
    get closedToMs() {
      return closedToMs
    },
  }
}
