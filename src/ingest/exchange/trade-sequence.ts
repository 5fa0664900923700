/**
 * Aggregate trades carry numbers that grow by one. This class releases every trade once, in order.
 *
 *   next number ──▶ released
 *   older       ──▶ a repeat, dropped; far older: the number before was wrong (`restartAt`)
 *   newer       ──▶ waits for the numbers in between: they come late, are requested (`append`), or are skipped
 *                   (`skipGap`)
 */

import type { AggregateTradeObservation } from '../../venues/observation.ts'
import { MAX_NUMBER_STEP } from '../../venues/plausible-bounds.ts'
import type { HistoryRange } from '../../venues/venue.ts'

/** Numbers grow almost in order of time: a trade proves that all trades this long before it have been released. */
export const OUT_OF_ORDER_MS = 1_500
/** How many trades are released in one go; more would hold up everything else that this thread records. */
const MAX_OUT_AT_ONCE = 2_000
const MINUTE_MS = 60_000

export class TradeSequence {
  private readonly onTrade: (trade: AggregateTradeObservation) => void
  private readonly later = new Map<number, AggregateTradeObservation>()
  private answeredMs = Number.NEGATIVE_INFINITY
  /** Number of the last released trade, and the newest time of all released trades. */
  lastId: number | undefined
  lastMs = Number.NEGATIVE_INFINITY
  /** Trades are complete from here on, except for gaps; undefined before the first trade is released. */
  startMs: number | undefined
  /** Since when trades have waited without any being released. */
  waitingSinceMs = 0

  constructor(onTrade: (trade: AggregateTradeObservation) => void) {
    this.onTrade = onTrade
  }

  get waiting(): number {
    return this.later.size
  }

  get isWaiting(): boolean {
    return this.later.size > 0
  }

  /** Every trade before this instant has been released or skipped. */
  get provenMs(): number {
    return Math.max(this.answeredMs, this.lastMs - OUT_OF_ORDER_MS)
  }

  firstWaiting(): AggregateTradeObservation | undefined {
    let first: AggregateTradeObservation | undefined
    for (const trade of this.later.values()) if (first === undefined || trade.id < first.id) first = trade
    return first
  }

  push(trade: AggregateTradeObservation, nowMs: number): void {
    if (this.lastId !== undefined && trade.id <= this.lastId) return
    if (!this.isWaiting && this.lastId !== undefined && trade.id === this.lastId + 1) {
      this.out(trade)
      return
    }
    if (!this.isWaiting) this.waitingSinceMs = nowMs
    this.later.set(trade.id, trade)
    this.drain(nowMs)
  }

  /** Releases waiting trades whose turn has come. Returns true if more of them are ready. */
  drain(nowMs: number): boolean {
    for (let out = 0; this.lastId !== undefined && this.isWaiting; out++) {
      const next = this.later.get(this.lastId + 1)
      if (next === undefined) return false
      if (out >= MAX_OUT_AT_ONCE) return true
      this.later.delete(next.id)
      this.out(next)
      this.waitingSinceMs = nowMs
    }
    return false
  }

  /**
   * Begins with the trades from `fromMs` on that the venue found before the first one. Returns false if a number is
   * missing among them or between them and the first one.
   */
  start(
    fromMs: number,
    found: readonly AggregateTradeObservation[],
    first: { readonly id: number },
  ): boolean {
    const earlier = found.filter((row) => row.id < first.id)
    const firstId = earlier[0]?.id ?? first.id
    const isWhole = earlier.every((row, index) => row.id === firstId + index)
    if (!isWhole || firstId + earlier.length !== first.id) return false
    this.startMs ??= fromMs
    for (const row of earlier) this.out(row)
    this.lastId ??= first.id - 1
    this.dropRepeats()
    return true
  }

  /**
   * Releases the trades that the venue found before number `untilId`. Returns false if a number is missing; nothing
   * after it is released.
   */
  append(found: readonly AggregateTradeObservation[], untilId = Number.POSITIVE_INFINITY): boolean {
    let isUnbroken = true
    for (const row of found) {
      // The stream may have sent some of them in the meantime.
      if (this.lastId === undefined || row.id <= this.lastId || row.id >= untilId) continue
      isUnbroken = row.id === this.lastId + 1
      if (!isUnbroken) break
      this.out(row)
    }
    this.dropRepeats()
    return isUnbroken
  }

  /** The venue has answered for everything before this instant. */
  prove(toMs: number): void {
    this.answeredMs = Math.max(this.answeredMs, toMs)
  }

  /** Continues with the first waiting trade; returns the time in which trades are missing for good. */
  skipGap(): HistoryRange | undefined {
    const next = this.firstWaiting()
    if (next === undefined) return undefined
    const toMs = next.venueTimeMs
    const fromMs = this.startMs === undefined ? Math.floor(toMs / MINUTE_MS) * MINUTE_MS : this.lastMs
    this.startMs ??= toMs
    this.lastId = next.id - 1
    return { fromMs, toMs }
  }

  /** Whether the number is so far below the last one that the last one was wrong. */
  isFarBelow({ id }: AggregateTradeObservation): boolean {
    return this.lastId !== undefined && this.lastId - id > MAX_NUMBER_STEP
  }

  /** Continues with a trade that is far below; returns the time in which trades are missing. */
  restartAt({ id, venueTimeMs }: AggregateTradeObservation): HistoryRange {
    this.later.clear()
    this.lastId = id - 1
    return { fromMs: Math.min(this.lastMs, venueTimeMs), toMs: venueTimeMs }
  }

  private out(trade: AggregateTradeObservation): void {
    this.lastId = trade.id
    this.lastMs = Math.max(this.lastMs, trade.venueTimeMs)
    this.onTrade(trade)
  }

  private dropRepeats(): void {
    const { lastId } = this
    for (const id of this.later.keys()) if (lastId !== undefined && id <= lastId) this.later.delete(id)
  }
}
