/**
 * Finds the parts of a minute whose trades are complete, when the venue's count of the minute shows that some are
 * missing. As a minute grows, the stream repeats its candle with the number and the volume of its trades so far.
 *
 *   trades of ours   x  x   x  ·  ·  ·  x   x  x
 *   candles shown      2      4      6    7   8    ──▶ the venue's own candle: 9
 *
 *   as many of ours from the start as a candle counts, with its volume        ──▶ none is missing among them
 *   as many of ours from the end as came after a candle, with their volume    ──▶ none is missing after it
 *
 * Trades of the same size could make one candle fit by chance, so all candles before it, or after it, must fit too.
 */
import { add, compare, type Decimal, decimal, subtract, ZERO } from '../../core/decimal.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import type { TradeFact } from './build-candles.ts'
import type { Candle } from './candle.ts'
import type { WaitingMinute } from './close-seconds.ts'

const MINUTE_MS = 60_000
/** If a minute has more trades, its parts are not proven. */
const MAX_TRADES = 10_000
const MAX_SHOWN = 200
/**
 * How far a minute may be behind the newest one. While the venue answers no request, minutes stay open and their trades
 * accumulate.
 */
const MAX_HELD_MS = 3_600_000
/** How far our clock may be behind the venue's. */
const MAX_BEHIND_MS = 5_000

interface Minute {
  trades: { timeMs: number; size: Decimal }[]
  /** By trade count: the volume of the first candle with this count, and when it was received. */
  readonly shown: Map<number, { volume: Decimal; receivedMs: number }>
  isUnprovable: boolean
}

export class MinuteParts {
  private readonly minutes = new Map<number, Minute>()

  trade({ timeMs, size }: Pick<TradeFact, 'timeMs' | 'size'>): void {
    const minute = this.minuteOf(timeMs)
    if (minute.trades.length < MAX_TRADES && !minute.isUnprovable)
      minute.trades.push({ timeMs, size: decimal(size) })
    else this.giveUp(timeMs)
  }

  /** The candle of a minute as the stream shows it. */
  show({ openMs, count, volume }: Pick<Candle, 'openMs' | 'count' | 'volume'>, receivedMs: number): void {
    const { shown, isUnprovable } = this.minuteOf(openMs)
    if (!isUnprovable && !shown.has(count) && shown.size < MAX_SHOWN) shown.set(count, { volume, receivedMs })
  }

  /** No part of this minute can be proven: it has too many trades, or one that the venue may or may not count. */
  giveUp(timeMs: number): void {
    letGo(this.minuteOf(timeMs))
  }

  /** The range of a minute that is left without proof. */
  unproven({ openMs, count, volume }: Pick<WaitingMinute, 'openMs' | 'count' | 'volume'>): HistoryRange {
    const endMs = openMs + MINUTE_MS
    const all = { fromMs: openMs, toMs: endMs }
    const minute = this.minutes.get(openMs)
    if (minute === undefined || minute.isUnprovable) return all
    const trades = minute.trades.toSorted((a, b) => a.timeMs - b.timeMs)
    const sums = [ZERO]
    for (const { size } of trades) sums.push(add(sums.at(-1) ?? ZERO, size))
    const shown = [...minute.shown].sort(([a], [b]) => a - b)
    const fromMs = provenFromStart(trades, sums, shown) ?? openMs
    const toMs =
      count === undefined || volume === undefined
        ? endMs
        : (provenToEnd(trades, sums, shown.toReversed(), { count, volume }) ?? endMs)
    return fromMs < toMs ? { fromMs, toMs: Math.min(toMs, endMs) } : all
  }

  /** The minutes before this are closed. */
  forget(beforeMs: number): void {
    for (const openMs of this.minutes.keys()) if (openMs < beforeMs) this.minutes.delete(openMs)
  }

  private minuteOf(timeMs: number): Minute {
    const openMs = Math.floor(timeMs / MINUTE_MS) * MINUTE_MS
    const known = this.minutes.get(openMs)
    if (known !== undefined) return known
    const minute: Minute = { trades: [], shown: new Map(), isUnprovable: false }
    this.minutes.set(openMs, minute)
    for (const [heldMs, held] of this.minutes) if (heldMs < openMs - MAX_HELD_MS) letGo(held)
    return minute
  }
}

function letGo(minute: Minute): void {
  minute.isUnprovable = true
  minute.trades = []
  minute.shown.clear()
}

type Shown = readonly (readonly [count: number, candle: { volume: Decimal; receivedMs: number }])[]

/** The instant just after the last proven trade. */
function provenFromStart(
  trades: Minute['trades'],
  sums: readonly Decimal[],
  shown: Shown,
): number | undefined {
  let provenMs: number | undefined
  for (const [count, { volume }] of shown) {
    const sum = sums[count]
    if (sum === undefined || compare(sum, volume) !== 0) break
    const last = trades[count - 1]
    if (last !== undefined) provenMs = last.timeMs + 1
  }
  return provenMs
}

/** Goes back from the newest candle, and returns the time of the first trade after the last candle that fits. */
function provenToEnd(
  trades: Minute['trades'],
  sums: readonly Decimal[],
  shown: Shown,
  final: { readonly count: number; readonly volume: Decimal },
): number | undefined {
  let provenMs: number | undefined
  const total = sums.at(-1) ?? ZERO
  for (const [count, { volume, receivedMs }] of shown) {
    const before = trades.length - (final.count - count)
    const sum = sums[before]
    if (sum === undefined || compare(subtract(total, sum), subtract(final.volume, volume)) !== 0) break
    // A candle does not carry the time of its last trade, but that is not later than the candle's arrival.
    const shownMs = receivedMs + MAX_BEHIND_MS
    provenMs = Math.min(shownMs, trades[before]?.timeMs ?? shownMs)
  }
  return provenMs
}
