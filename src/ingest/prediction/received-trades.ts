/**
 * Counts the trades of all markets of a symbol, as they are streamed and as they are swept.
 *
 *   trade ──market restored?──▶ counted          a late one ──▶ its candle is shown again at once
 *               ╰──not yet──▶ written, counted after what an earlier run stored
 *   swept, swept_to ──▶ what is known of the trades before is all of them
 *   trades_lost ──▶ a gap until they are requested
 */
import { candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { TradeObservation } from '../../venues/observation.ts'
import { feedOf } from '../shared/feeds.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import type { FollowedMarket } from './followed-market.ts'
import { BASE_INTERVAL, candleFeeds, type PredictionPlan } from './market-feeds.ts'
import type { MarketRecorder } from './record-market.ts'

interface ReceivedTradesParts {
  readonly plan: PredictionPlan
  readonly symbol: AssetSymbol
  readonly tracker: CoverageTracker
  readonly clock: Clock
  readonly startedMs: number
  readonly markets: ReadonlyMap<string, FollowedMarket>
  /** When the candles of all markets were last shown. */
  readonly shownMs: () => number
}

export class ReceivedTrades {
  readonly #parts: ReceivedTradesParts
  #sweptToMs = 0
  /** Markets with a late trade, whose candles are shown in a moment. */
  readonly #late = new Set<MarketRecorder>()

  constructor(parts: ReceivedTradesParts) {
    this.#parts = parts
  }

  /** All trades before this instant were received, of every market that the venue lists. */
  get sweptToMs(): number {
    return this.#sweptToMs
  }

  received(observation: TradeObservation): void {
    const followed = this.#parts.markets.get(observation.leg?.marketId ?? observation.instrument)
    if (followed === undefined) return
    const { recorder } = followed
    if (followed.isReady) {
      this.#take(recorder, observation)
      return
    }
    // Written at once, because its time counts as observed; counted after what an earlier run stored of its candle.
    if (observation.isSwept !== true) recorder.put(observation)
    followed.ready = followed.ready.then(() => this.#take(recorder, observation))
  }

  /** All trades of a market were received after its close. */
  swept(marketId: string): void {
    const followed = this.#parts.markets.get(marketId)
    if (followed === undefined) return
    followed.ready = followed.ready.then(() => {
      this.#countUnmarked(followed.recorder, Number.POSITIVE_INFINITY)
      followed.isSwept = true
    })
  }

  /** Takes effect once everything received before it is counted. */
  async sweptTo(toMs: number): Promise<void> {
    const { markets } = this.#parts
    await Promise.all([...markets.values()].map(({ ready }) => ready))
    // The sweep covers this run only; trades of an earlier one are counted when their own market is swept.
    for (const { recorder, isRestored } of markets.values())
      if (isRestored) this.#countUnmarked(recorder, toMs)
    this.#sweptToMs = Math.max(this.#sweptToMs, toMs)
  }

  /**
   * Lost trades are a gap until they are requested, and so are the candles that lack them: their midpoints were
   * received.
   */
  lost(fromMs: number, toMs: number): void {
    const { plan, symbol, tracker, startedMs } = this.#parts
    const sinceMs = Math.max(fromMs, this.#sweptToMs, startedMs)
    for (const feed of [feedOf('trades', plan.source, symbol), ...candleFeeds(plan, symbol)])
      tracker.unreceived(feed, sinceMs, toMs)
  }

  /**
   * The past of a running market was requested again. If it may still lack trades, the time that an earlier run
   * observed becomes a gap.
   */
  proven(followed: FollowedMarket, isComplete: boolean): void {
    const { plan, symbol, tracker } = this.#parts
    const { unproven } = followed
    if (unproven === undefined) return
    if (isComplete) followed.unproven = undefined
    else if (!unproven.isGap)
      tracker.unproven(feedOf('trades', plan.source, symbol), unproven.fromMs, unproven.toMs)
    unproven.isGap = true
  }

  /**
   * A late trade and its closed candle are written together, because a restart assumes that the candle contains the
   * trade.
   */
  #take(recorder: MarketRecorder, observation: TradeObservation): void {
    const isNew = recorder.trade(observation)
    const endMs = candleStart(observation.venueTimeMs, BASE_INTERVAL) + INTERVAL_MS[BASE_INTERVAL]
    if (!isNew || endMs > this.#parts.shownMs()) return
    // A list has many late trades; its candles are shown once, after the last of them.
    if (this.#late.size === 0) queueMicrotask(() => this.#showLate())
    this.#late.add(recorder)
  }

  #showLate(): void {
    const nowMs = this.#parts.clock.now()
    for (const recorder of this.#late) recorder.show(nowMs)
    this.#late.clear()
  }

  /** Puts the candles at once, because they may become final with the sweep. */
  #countUnmarked(recorder: MarketRecorder, beforeMs: number): void {
    if (recorder.countUnmarked(beforeMs)) recorder.show(this.#parts.clock.now())
  }
}
