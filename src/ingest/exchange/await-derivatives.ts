/**
 * Tracks how far the funding rates and the open interest of a symbol are known. A candle of a perpetual is closed with
 * the values of its time, so it waits for them: rates are settled on the hour and published within a minute; open
 * interest is sampled on a five-minute grid.
 */
import type { OpenInterestInput } from '../../core/rows/open-interest.ts'
import { FUNDING_LATE_MS } from '../../venues/due-rate.ts'
import type { OpenInterestObservation } from '../../venues/observation.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { REQUESTED_LATE_MS, requestedKey } from '../shared/feeds.ts'
import { putOpenInterest, requestFunding, requestOpenInterest } from './request-derivatives.ts'
import { OPEN_INTEREST_GRID_MS, OpenInterestSampler } from './sample-open-interest.ts'
import type { SymbolParts } from './symbol-parts.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Pause between two requests for a sample that is not published yet. It grows, because the request budget is small. */
const ASK_AGAIN_MS = 1_000
const MAX_ASK_AGAIN_MS = 16_000
/** How long a minute waits for a settled rate before it is written without the rate, as a gap. */
const PATIENCE_MS = 30_000
/** A settled rate can be requested this long after its hour. */
const FUNDING_SETTLED_MS = 62_000
/** The longest pause between two requests for a rate that is not published yet. */
const MAX_ASK_RATE_AGAIN_MS = 8_000

type JoinedTopic = 'funding' | 'open_interest'

const REQUESTS = { funding: requestFunding, open_interest: requestOpenInterest } as const

export class DerivativesProgress {
  private readonly parts: SymbolParts
  private readonly startedMs: number
  private readonly sampler = new OpenInterestSampler()
  private fundingToMs: number
  private fundingAskedMs = 0
  private fundingPauseMs = ASK_AGAIN_MS
  private interestToMs: number
  private interestAskedMs = 0
  private interestPauseMs = ASK_AGAIN_MS
  /** Since when requests for a topic have failed. */
  private readonly failsSinceMs = new Map<JoinedTopic, number>()

  constructor(parts: SymbolParts, fromMs: number) {
    this.parts = parts
    this.startedMs = parts.clock.now()
    this.fundingToMs = fromMs - 24 * HOUR_MS
    this.interestToMs = fromMs - HOUR_MS
  }

  /** Open interest from the stream. */
  receive(observation: OpenInterestObservation): void {
    if (this.parts.plan.openInterest === 'streamed') this.put(this.sampler.receive(observation))
  }

  /** Everything up to `receivedToMs` has been received: puts the sample that is due, or reports that it is late. */
  show(nowMs: number, receivedToMs: number): void {
    const { plan, tracker, symbol } = this.parts
    if (plan.openInterest === 'streamed') this.put(this.sampler.pass(receivedToMs))
    if (plan.openInterest !== 'requested' || nowMs - this.interestToMs <= REQUESTED_LATE_MS) return
    const key = requestedKey('open_interest', symbol)
    if (tracker.isUp(key)) tracker.failed(key, this.interestToMs, 'venue_down')
  }

  /** Whether the rate and the open interest of a candle that ends here can no longer change. */
  isKnown(closeMs: number): boolean {
    const { plan, derivatives } = this.parts
    if (derivatives === undefined) return true
    if (plan.hasFunding && this.fundingToMs <= Math.floor((closeMs - 1) / HOUR_MS) * HOUR_MS) return false
    const gridMs = Math.floor(closeMs / OPEN_INTEREST_GRID_MS) * OPEN_INTEREST_GRID_MS
    return plan.openInterest === 'requested' ? this.interestToMs > gridMs : this.sampler.hasPassed(gridMs)
  }

  /** Candles of this length that open at or after the returned instant lack their rate or open interest. */
  unknownFrom(lengthMs: number): number {
    const { plan, derivatives, clock } = this.parts
    if (derivatives === undefined) return Number.POSITIVE_INFINITY
    // A rate that is long overdue counts as nonexistent, except while requests fail.
    const noneBeforeMs = this.failsSinceMs.has('funding') ? 0 : clock.now() - FUNDING_LATE_MS
    const awaitedMs = Math.max(this.fundingToMs, noneBeforeMs)
    const rateMs = plan.hasFunding ? Math.ceil(awaitedMs / HOUR_MS) * HOUR_MS : Number.POSITIVE_INFINITY
    // A candle also gets the sample at its exact end.
    return plan.openInterest === 'requested' ? Math.min(rateMs, this.awaitedMs - lengthMs) : rateMs
  }

  /**
   * Requests what minutes up to `toMs` need; returns the instant up to which minutes need not wait for a rate or
   * sample.
   */
  async request(toMs: number, nowMs: number): Promise<number> {
    const { plan, derivatives } = this.parts
    if (derivatives === undefined) return toMs
    if (plan.openInterest === 'requested') await this.requestInterest(toMs, nowMs)
    const hourMs = Math.floor((toMs - 1) / HOUR_MS) * HOUR_MS
    // Requests once more after the rate of the start is settled, so that nothing is missing between history and stream.
    const isJoined = this.fundingToMs > this.startedMs || nowMs < this.startedMs + FUNDING_SETTLED_MS
    if (plan.hasFunding && !(this.fundingToMs > hourMs && isJoined)) {
      await this.requestRate(nowMs)
      if (this.fundingToMs <= hourMs && nowMs - toMs <= PATIENCE_MS) return 0
    }
    if (plan.openInterest === 'requested') return Math.min(toMs, this.interestLimit(nowMs))
    // A sample that is due is decided within a second or two, so the minute that needs it waits.
    return this.sampler.nextMs <= toMs ? this.sampler.nextMs - MINUTE_MS : toMs
  }

  private async requestRate(nowMs: number): Promise<void> {
    if (Math.abs(nowMs - this.fundingAskedMs) < this.fundingPauseMs) return
    const beforeMs = this.fundingToMs
    this.fundingToMs = await this.ask('funding', { fromMs: beforeMs, toMs: nowMs })
    this.fundingAskedMs = nowMs
    this.fundingPauseMs =
      this.fundingToMs > beforeMs ? ASK_AGAIN_MS : Math.min(2 * this.fundingPauseMs, MAX_ASK_RATE_AGAIN_MS)
  }

  /** When the first unknown sample was due, or will be. */
  private get awaitedMs(): number {
    return Math.ceil(this.interestToMs / OPEN_INTEREST_GRID_MS) * OPEN_INTEREST_GRID_MS
  }

  /** Minutes that end before the first awaited sample already have theirs. */
  private interestLimit(nowMs: number): number {
    const { awaitedMs } = this
    return nowMs - awaitedMs < REQUESTED_LATE_MS ? awaitedMs - MINUTE_MS : Number.POSITIVE_INFINITY
  }

  private async requestInterest(toMs: number, nowMs: number): Promise<void> {
    if (this.interestToMs > Math.floor(toMs / OPEN_INTEREST_GRID_MS) * OPEN_INTEREST_GRID_MS) return
    if (Math.abs(nowMs - this.interestAskedMs) < this.interestPauseMs) return
    const beforeMs = this.interestToMs
    this.interestToMs = await this.ask('open_interest', { fromMs: beforeMs, toMs: nowMs })
    this.interestAskedMs = nowMs
    this.interestPauseMs =
      this.interestToMs > beforeMs ? ASK_AGAIN_MS : Math.min(2 * this.interestPauseMs, MAX_ASK_AGAIN_MS)
    const { tracker, symbol } = this.parts
    const key = requestedKey('open_interest', symbol)
    // Nothing is known about the next sample, however long ago it was due.
    tracker.limitChannel(key, this.awaitedMs)
    if (nowMs - this.interestToMs < REQUESTED_LATE_MS) tracker.up(key, this.interestToMs)
  }

  /**
   * A failed request says nothing about a rate or a sample, so minutes wait. If requests keep failing while the venue
   * answers others, minutes are closed without the value.
   */
  private async ask(topic: JoinedTopic, range: HistoryRange): Promise<number> {
    const { venue, symbol, signal } = this.parts
    const request = async () => {
      const settledMs = await REQUESTS[topic](this.parts, range, true)
      this.failsSinceMs.delete(topic)
      return settledMs
    }
    try {
      return await request()
    } catch (error) {
      const sinceMs = this.failsSinceMs.get(topic) ?? range.toMs
      this.failsSinceMs.set(topic, sinceMs)
      if (range.toMs - sinceMs < REQUESTED_LATE_MS) throw error
    }
    const minute = { fromMs: range.toMs - 2 * MINUTE_MS, toMs: range.toMs - MINUTE_MS }
    const other = { topic: 'candles', symbol, interval: '1m', range: minute, isUrgent: true } as const
    for await (const _ of venue.history(other, { signal }));
    return request().catch(() => range.fromMs)
  }

  private put(sample: OpenInterestInput | undefined): void {
    if (sample !== undefined) putOpenInterest(this.parts, [sample])
  }
}
