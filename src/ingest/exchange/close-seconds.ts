/**
 * Candles of a second, and the single trades where they are stored.
 *
 *   klines            the venue publishes them: the stream shows, the REST answer of the whole minute closes
 *   aggregate_trades  built; their numbers and the venue's own candle prove that none is missing (prove-minutes.ts)
 *   trades            built; without numbers, so the venue's own count of the minute is the proof: a minute that
 *                     lacks trades after `lateTradesMs` is a gap in trades and seconds, never a silent one, and a
 *                     known gap whose trades were all sent again is none any more
 *
 * A built second is shown as it grows. Numbered trades close it themselves: by one that is `CLOSE_AFTER_MS` later than
 * its end, if what is joined to it is known. Without numbers nothing but the count of its minute can close it: a
 * closed row is never wrong. The rest is closed with its minute, once that is proven; a second that is not, or
 * that lies in a known gap, never: it is left to the backfill.
 */
import { type Decimal, ZERO } from '../../core/decimal.ts'
import type { Feed } from '../../core/feed.ts'
import type { CandleObservation } from '../../venues/observation.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { type CandleBuilder, createCandleBuilder, type TradeFact } from './build-candles.ts'
import { type Candle, candleOfKline } from './candle.ts'
import { candleOf } from './candle-row.ts'
import type { MinuteProver } from './prove-minutes.ts'
import { recordPageCoverage } from './request-derivatives.ts'
import type { UnclosedTrades } from './resume.ts'
import type { SymbolParts } from './symbol-parts.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/** Frames may change places, so the very next trade does not close a second yet. */
const CLOSE_AFTER_MS = 1_500
/** The venue's candles of seconds are requested at most this far back at once; a longer gap is the backfill's. */
const MAX_ASK_MS = 3_600_000
/** A trade that comes later than this after its minute was closed is too late to be distinguished. */
const MAX_SOUND_MINUTES = 60

export interface SecondCloser {
  receive(kline: CandleObservation): void
  trade(trade: TradeFact): void
  /** A trade of nothing: the venue may count it, no row has it. */
  empty(timeMs: number): void
  /** Nothing is known of this range; an open end is the present. */
  gap(fromMs: number, toMs: number): void
  /** Takes over the trades of the run before. */
  resume(left: UnclosedTrades): void
  /** Complete from here on, gaps apart. */
  begin(atMs: number): void
  show(): void
  /** The venue's minutes are known: closes what can be closed. */
  minutes(candles: readonly Candle[], fromMs: number, toMs: number): void
  close(nowMs: number): Promise<void>
  /** Every second before this is closed or left to the backfill; undefined before the first. */
  readonly closedToMs: number | undefined
}

interface WaitingMinute {
  readonly openMs: number
  readonly count: number
  readonly volume: Decimal
  /** When the venue's candle was known. */
  readonly knownMs: number
}

export function closeSeconds(
  parts: SymbolParts,
  /** Whether everything that is joined to a candle of this end is known. */
  isJoined: (closeMs: number) => boolean,
  /** Numbered trades only. */
  prover?: MinuteProver,
): SecondCloser {
  const { plan, venue, symbol, writer, tracker, derivatives, counts, clock, signal } = parts
  const feed = candleFeed(plan.source, symbol, '1s')
  const feeds: Feed[] = plan.hasTrades ? [feed, feedOf('trades', plan.source, symbol)] : [feed]
  const builder: CandleBuilder = createCandleBuilder({ lengthMs: SECOND_MS })
  let gaps: { fromMs: number; toMs: number }[] = []
  let beganMs: number | undefined
  /** Minutes of the venue that wait for their seconds. */
  let waiting: WaitingMinute[] = []
  let requestedToMs: number | undefined
  let closedToMs: number | undefined
  /** Minutes that were closed with our own trades as all there were. */
  const sound = new Set<number>()
  /** Built seconds that are not closed, by their open time. */
  const open = new Set<number>()
  let newestMs = Number.NEGATIVE_INFINITY
  /** Trades of nothing, by their minute. */
  const empties = new Map<number, number>()

  const put = (candles: readonly Candle[], closed: boolean) =>
    writer.put(
      feed,
      candles.map((candle) => candleOf(plan, { interval: '1s', candle }, closed, derivatives)),
    )
  const inGap = (fromMs: number, toMs: number) =>
    beganMs === undefined || fromMs < beganMs || gaps.some((gap) => gap.fromMs < toMs && gap.toMs > fromMs)

  const secondOf = (timeMs: number) => Math.floor(timeMs / SECOND_MS) * SECOND_MS

  function isOver(openMs: number): boolean {
    const endMs = openMs + SECOND_MS
    return newestMs >= endMs + CLOSE_AFTER_MS && !inGap(openMs, endMs) && isJoined(endMs)
  }

  /** Ask the venue for its candles of seconds up to the last known minute. */
  async function requestSeconds(toMs: number): Promise<void> {
    const fromMs = Math.max(requestedToMs ?? toMs - MINUTE_MS, toMs - MAX_ASK_MS)
    const range = { fromMs, toMs }
    for await (const page of venue.history(
      { topic: 'candles', symbol, interval: '1s', range, isUrgent: true },
      { signal },
    )) {
      put(
        page.observations.filter((row): row is CandleObservation => row.kind === 'candle').map(candleOfKline),
        true,
      )
      recordPageCoverage(parts, [feed], page)
      requestedToMs = page.covered?.toMs ?? requestedToMs
    }
  }

  /** False while it is not proven yet. */
  function closeProven(minute: WaitingMinute, by: MinuteProver, nowMs: number): boolean {
    const { openMs } = minute
    const endMs = openMs + MINUTE_MS
    const own = secondsOf(openMs)
    const verdict = by.judge(minute, own, inGap(openMs, endMs), nowMs)
    if (verdict.kind === 'wait') return false
    taken(builder.take(endMs))
    if (verdict.kind === 'whole') {
      put(verdict.candles, true)
      tracker.confirm(feed, openMs, endMs)
      if (verdict.candles === own) isSound(openMs)
    } else {
      counts.missedMinutes += 1
      const lostMs = Math.max(openMs, Math.min(endMs, secondOf(verdict.provenMs)))
      put(
        own.filter((candle) => candle.openMs < lostMs && !inGap(candle.openMs, candle.openMs + SECOND_MS)),
        true,
      )
      tracker.unproven(feed, lostMs, endMs)
    }
    parts.writer.final(feed, endMs)
    closedToMs = endMs
    by.forget(endMs)
    return true
  }

  function isSound(openMs: number): void {
    sound.add(openMs)
    const [oldest] = sound
    if (sound.size > MAX_SOUND_MINUTES && oldest !== undefined) sound.delete(oldest)
  }

  function closeMinute({ openMs, count }: WaitingMinute, nowMs: number): boolean {
    const endMs = openMs + MINUTE_MS
    const stored = secondsOf(openMs).reduce((sum, candle) => sum + candle.count, 0)
    const nothing = empties.get(openMs) ?? 0
    const own = stored < count ? Math.min(stored + nothing, count) : stored
    // A new subscription may have sent the missed trades again: the venue's own count is the proof.
    const isSentAgain = plan.secondsFrom === 'trades' && count > 0 && own === count
    const isBroken = !isSentAgain && inGap(openMs, endMs)
    if (plan.secondsFrom === 'trades' && !isBroken) {
      if (own < count && nowMs < endMs + plan.lateTradesMs) return false
      if (own < count) {
        counts.missedMinutes += 1
        for (const each of feeds) tracker.lost(each, openMs, endMs, 'not_observed')
        taken(builder.take(endMs))
        return true
      }
      if (own > count) counts.differences += 1
    }
    const candles = taken(builder.take(endMs))
    put(
      isBroken ? candles.filter((candle) => !inGap(candle.openMs, candle.openMs + SECOND_MS)) : candles,
      true,
    )
    for (const each of feeds) {
      if (!isBroken) tracker.confirm(each, openMs, endMs)
      parts.writer.final(each, endMs)
    }
    return true
  }

  function taken(candles: Candle[]): Candle[] {
    for (const { openMs } of candles) open.delete(openMs)
    return candles
  }

  function secondsOf(minuteMs: number): Candle[] {
    const candles: Candle[] = []
    for (let at = minuteMs; at < minuteMs + MINUTE_MS; at += SECOND_MS) {
      const candle = builder.at(at)
      if (candle !== undefined) candles.push(candle)
    }
    return candles
  }

  return {
    receive(kline) {
      if (requestedToMs !== undefined && kline.openTimeMs < requestedToMs) return
      put([candleOfKline(kline)], kline.closed)
    },
    trade(trade) {
      if (!builder.add(trade)) {
        counts.lateTrades += 1
        const openMs = secondOf(trade.timeMs)
        // What was closed as complete was not: it is a gap until the backfill has requested it.
        if (sound.has(Math.floor(openMs / MINUTE_MS) * MINUTE_MS))
          tracker.lost(feed, openMs, openMs + SECOND_MS, 'not_observed')
        return
      }
      prover?.trade(trade)
      if (plan.secondsFrom === 'aggregate_trades') open.add(secondOf(trade.timeMs))
      newestMs = Math.max(newestMs, trade.timeMs)
    },
    empty(timeMs) {
      if (plan.secondsFrom !== 'trades') return
      const minuteMs = Math.floor(timeMs / MINUTE_MS) * MINUTE_MS
      empties.set(minuteMs, (empties.get(minuteMs) ?? 0) + 1)
    },
    gap(fromMs, toMs) {
      const open = gaps.find((gap) => gap.toMs === Number.POSITIVE_INFINITY)
      if (open !== undefined && toMs !== Number.POSITIVE_INFINITY && fromMs <= open.fromMs) open.toMs = toMs
      else if (open === undefined) gaps.push({ fromMs, toMs })
      gaps = gaps.slice(-100)
    },
    resume(left) {
      beganMs = left.fromMs
      gaps = [...left.gaps]
      for (const trade of left.trades) builder.add(trade)
    },
    begin(atMs) {
      beganMs ??= atMs
    },
    show() {
      if (plan.secondsFrom === 'candles') return
      put(
        builder.changed().filter((candle) => beganMs !== undefined && candle.openMs >= beganMs),
        false,
      )
      const over = [...open].filter(isOver)
      put(
        over.flatMap((openMs) => builder.at(openMs) ?? []),
        true,
      )
      for (const openMs of over) open.delete(openMs)
    },
    minutes(candles, fromMs, toMs) {
      if (plan.secondsFrom === 'candles') {
        waiting = [{ openMs: toMs - MINUTE_MS, count: 0, volume: ZERO, knownMs: clock.now() }]
        return
      }
      const byOpen = new Map(candles.map((candle) => [candle.openMs, candle]))
      const firstMs = Math.max(fromMs, Math.floor((beganMs ?? toMs) / MINUTE_MS) * MINUTE_MS)
      for (let openMs = firstMs; openMs < toMs; openMs += MINUTE_MS)
        waiting.push({
          openMs,
          count: byOpen.get(openMs)?.count ?? 0,
          volume: byOpen.get(openMs)?.volume ?? ZERO,
          knownMs: clock.now(),
        })
    },
    async close(nowMs) {
      if (plan.secondsFrom === 'candles') {
        const [minute] = waiting
        if (minute === undefined) return
        await requestSeconds(minute.openMs + MINUTE_MS)
        if (waiting[0] === minute) waiting = []
        return
      }
      const close = (minute: WaitingMinute) =>
        prover === undefined ? closeMinute(minute, nowMs) : closeProven(minute, prover, nowMs)
      while (waiting[0] !== undefined && close(waiting[0])) {
        for (const minuteMs of empties.keys()) if (minuteMs <= waiting[0].openMs) empties.delete(minuteMs)
        waiting.shift()
      }
    },
    get closedToMs() {
      return plan.secondsFrom === 'candles' ? requestedToMs : closedToMs
    },
  }
}
