/**
 * The seconds of a symbol that are built from trades and not closed yet, and the ranges in which trades are missing.
 */
import { ZERO } from '../../core/decimal.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { createCandleBuilder, type TradeFact } from './build-candles.ts'
import type { Candle } from './candle.ts'
import type { WaitingMinute } from './close-seconds.ts'
import type { UnclosedTrades } from './resume.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const MAX_GAPS = 100
/**
 * How many seconds may wait for their minutes while the venue answers no request: twelve hours, if each has a trade.
 */
const MAX_HELD = 12 * 3_600
const DROPPED_MS = 3_600_000

export class BuiltSeconds {
  private readonly builder = createCandleBuilder({ lengthMs: SECOND_MS })
  private gaps: HistoryRange[] = []
  private beganMs: number | undefined

  /** Returns false for a trade whose second was already taken. */
  add(trade: TradeFact): boolean {
    return this.builder.add(trade)
  }

  at(openMs: number): Candle | undefined {
    return this.builder.at(openMs)
  }

  /** Trades are complete from this instant on, except for gaps. */
  begin(atMs: number): void {
    this.beganMs ??= atMs
  }

  get hasBegun(): boolean {
    return this.beganMs !== undefined
  }

  /** Takes over the unclosed trades of the previous run. */
  resume({ fromMs, gaps, trades }: UnclosedTrades): void {
    this.beganMs = fromMs
    this.gaps = [...gaps]
    for (const trade of trades) this.builder.add(trade)
  }

  /**
   * An infinite `toMs` means that the gap is still open. A later range that starts no later than the open gap closes
   * it.
   */
  gap(fromMs: number, toMs: number): void {
    const isOpen = (gap: HistoryRange) => gap.toMs === Number.POSITIVE_INFINITY
    const open = this.gaps.find(isOpen)
    if (open === undefined) this.gaps.push({ fromMs, toMs })
    else if (toMs !== Number.POSITIVE_INFINITY && fromMs <= open.fromMs)
      this.gaps = this.gaps.map((gap) => (gap === open ? { fromMs: gap.fromMs, toMs } : gap))
    this.gaps = this.gaps.slice(-MAX_GAPS)
  }

  /** Whether trades of this range are missing. */
  inGap(fromMs: number, toMs: number): boolean {
    if (this.beganMs === undefined || fromMs < this.beganMs) return true
    return this.gaps.some((gap) => gap.fromMs < toMs && gap.toMs > fromMs)
  }

  outsideGaps(candles: readonly Candle[]): Candle[] {
    return candles.filter(({ openMs }) => !this.inGap(openMs, openMs + SECOND_MS))
  }

  /** The seconds that changed since the last call, without those before the trades are complete. */
  changed(): Candle[] {
    const { beganMs } = this
    return this.builder.changed().filter(({ openMs }) => beganMs !== undefined && openMs >= beganMs)
  }

  ofMinute(minuteMs: number): Candle[] {
    const candles: Candle[] = []
    for (let at = minuteMs; at < minuteMs + MINUTE_MS; at += SECOND_MS) {
      const candle = this.builder.at(at)
      if (candle !== undefined) candles.push(candle)
    }
    return candles
  }

  /** Removes and returns the seconds that open before an instant. */
  take(beforeMs: number): Candle[] {
    return this.builder.take(beforeMs)
  }

  /** Drops the oldest seconds if there are too many; returns the range that is no longer known. */
  dropOldest(): HistoryRange | undefined {
    const { beganMs, builder } = this
    if (beganMs === undefined || builder.size <= MAX_HELD) return undefined
    const fromMs = Math.max(beganMs, builder.takenBeforeMs)
    const toMs = (Math.floor(builder.oldestMs / DROPPED_MS) + 1) * DROPPED_MS
    builder.take(toMs)
    this.beganMs = Math.max(beganMs, toMs)
    return fromMs < toMs ? { fromMs, toMs } : undefined
  }

  /**
   * The minutes of a range since the trades are complete. A minute without a candle of the venue has no trades, unless
   * it lies in an unknown range.
   */
  minutesOf(
    candles: readonly Candle[],
    unknown: readonly HistoryRange[],
    { fromMs, toMs }: HistoryRange,
    nowMs: number,
  ): WaitingMinute[] {
    const byOpen = new Map(candles.map((candle) => [candle.openMs, candle]))
    const firstMs = Math.max(fromMs, Math.floor((this.beganMs ?? toMs) / MINUTE_MS) * MINUTE_MS)
    const minutes: WaitingMinute[] = []
    for (let openMs = firstMs; openMs < toMs; openMs += MINUTE_MS) {
      const isUnknown = unknown.some((each) => each.fromMs < openMs + MINUTE_MS && each.toMs > openMs)
      const none = { quote: undefined, buyVolume: undefined }
      const quiet = isUnknown
        ? { count: undefined, volume: undefined, ...none }
        : { count: 0, volume: ZERO, ...none }
      const { count, volume, quote, buyVolume } = byOpen.get(openMs) ?? quiet
      minutes.push({ openMs, count, volume, quote, buyVolume, knownMs: nowMs })
    }
    return minutes
  }
}
