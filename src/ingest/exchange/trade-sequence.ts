/**
 * Aggregate trades carry numbers that grow by one: what comes out of here is every trade, once, in order.
 *
 *   next number ──▶ out
 *   older       ──▶ a repeat, dropped; far older: the number before was wrong (`restartAt`)
 *   newer       ──▶ waits for the numbers in between: they come late, are requested (`append`), or are skipped
 *                   (`skipGap`)
 */

import type { AggregateTradeObservation } from '../../venues/observation.ts'
import { MAX_NUMBER_STEP } from '../../venues/plausible-bounds.ts'
import type { HistoryRange } from '../../venues/venue.ts'

/** Numbers grow almost in the order of time: a trade proves that those this long before it are there. */
export const OUT_OF_ORDER_MS = 1_500
const MINUTE_MS = 60_000

export class TradeSequence {
  private readonly onTrade: (trade: AggregateTradeObservation) => void
  private readonly later = new Map<number, AggregateTradeObservation>()
  private answeredMs = Number.NEGATIVE_INFINITY
  /** Number and newest time of what is out. */
  lastId: number | undefined
  lastMs = Number.NEGATIVE_INFINITY
  /** Complete from here on, apart from gaps; undefined before the first trade is out. */
  startMs: number | undefined
  /** Since when nothing has come out while trades wait. */
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

  /** Every trade of a time before this is out, or skipped. */
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

  /** Lets out the waiting trades whose turn has come. */
  drain(nowMs: number): void {
    while (this.lastId !== undefined && this.isWaiting) {
      const next = this.later.get(this.lastId + 1)
      if (next === undefined) break
      this.later.delete(next.id)
      this.out(next)
      this.waitingSinceMs = nowMs
    }
  }

  /**
   * Begins with the trades that the venue found before the first one, from `fromMs` on. False if a number is missing
   * among them or between them and the first one.
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

  /** Lets out what the venue found before number `untilId`. False if a number is missing: nothing behind it is out. */
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

  /** The venue has answered for everything before this. */
  prove(toMs: number): void {
    this.answeredMs = Math.max(this.answeredMs, toMs)
  }

  /** Goes on with the first trade that waits; gives the time in which trades are missing for good. */
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

  /** Goes on with a trade that is far below; gives the time in which trades are missing. */
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
