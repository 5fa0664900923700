/**
 * Up to when the books and open interest of a symbol are final. What is final stays as it is, so time that turns out to
 * be missing becomes a gap only above that.
 */
import { MARKET_TYPES, type MarketType } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { SeriesStore } from '../../store/series.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { readPatiently } from '../shared/read-patiently.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import type { RunningMarket } from './follow-unresolved-markets.ts'
import { type FollowedMarket, mayHaveClosed, mayRunOn, RUNS_ON_WITHIN_MS } from './followed-market.ts'
import { type PredictionPlan, snapshotFeed } from './market-feeds.ts'
import type { OpenInterestRecorder } from './record-open-interest.ts'

/** The longest time from the request of a list to its last answer. */
const LIST_TAKES_MS = 30_000

interface FinalBooksParts {
  readonly plan: PredictionPlan
  readonly symbol: AssetSymbol
  readonly series: SeriesStore
  readonly tracker: CoverageTracker
  readonly interest: OpenInterestRecorder
  readonly markets: ReadonlyMap<string, FollowedMarket>
  readonly clock: Clock
  readonly signal: AbortSignal
}

export class FinalBooks {
  readonly #parts: FinalBooksParts
  #beforeMs = 0
  readonly #known: Promise<void>
  readonly #startedMs: number
  /** Markets of an earlier run that should be running, and were not listed in this one. */
  readonly #expected = new Map<string, MarketType | null>()
  /** Up to here their absence is a gap. */
  #lackingToMs: number

  constructor(parts: FinalBooksParts) {
    this.#parts = parts
    this.#startedMs = parts.clock.now()
    this.#lackingToMs = this.#startedMs
    this.#known = this.#readEarlier()
    this.#known.catch(() => {})
  }

  /** All books and the open interest before this instant were final at some time. */
  get beforeMs(): number {
    return this.#beforeMs
  }

  /** Resolves when it is known what an earlier run marked as final. */
  get known(): Promise<void> {
    return this.#known
  }

  /**
   * Their books are not recorded and sums lack them until they are listed, so what follows the start is a gap and not
   * final until then, for at most as long as for other markets that lists leave out.
   */
  expect(running: readonly RunningMarket[]): void {
    for (const { marketId, marketType } of running) this.#expected.set(marketId, marketType ?? null)
  }

  /** Returns up to when they are final now. */
  advance(nowMs: number, listedMs: number | undefined): number {
    const { plan } = this.#parts
    const knownMs = plan.hasTokens ? nowMs : this.#endsKnownTo(nowMs, listedMs)
    const listedToMs = this.#listedTo(nowMs, listedMs)
    const finalMs = Math.max(0, Math.min(nowMs - plan.booksFinalAfterMs, knownMs, listedToMs))
    this.#beforeMs = Math.max(this.#beforeMs, finalMs)
    return finalMs
  }

  #listedTo(nowMs: number, listedMs: number | undefined): number {
    for (const [marketId, type] of this.#expected) {
      const followed = this.#parts.markets.get(marketId)
      if (followed === undefined) continue
      this.#expected.delete(marketId)
      // It was found only after its end, so no list has proven that it was followed until then.
      const { endMs } = followed.recorder
      if (endMs <= followed.followedMs) this.missed(type, { fromMs: this.#lackingToMs, toMs: endMs })
    }
    const isLacking = this.#expected.size > 0 && nowMs < this.#startedMs + RUNS_ON_WITHIN_MS
    if (!isLacking) return Number.POSITIVE_INFINITY
    // Before the first answer nobody lacks anything yet.
    if (listedMs !== undefined) {
      const lacking = { fromMs: this.#lackingToMs, toMs: nowMs }
      for (const type of new Set(this.#expected.values())) this.missed(type, lacking)
      this.#lackingToMs = nowMs
    }
    return this.#startedMs
  }

  missed(type: MarketType | null, missed: HistoryRange): void {
    const { plan, symbol, tracker, interest } = this.#parts
    const fromMs = Math.max(missed.fromMs, this.#beforeMs)
    if (type === null || fromMs >= missed.toMs) return
    tracker.lost(snapshotFeed(plan, symbol, type), fromMs, missed.toMs, 'not_observed')
    if (plan.hasOpenInterest) interest.missed(fromMs, missed.toMs)
  }

  /**
   * A contract may close later or earlier than listed. That is unknown for the time after the last list, and for a
   * contract that the lists leave out, after its end or since they do.
   */
  #endsKnownTo(nowMs: number, listedMs = 0): number {
    const toMs = listedMs - LIST_TAKES_MS
    let knownMs = toMs
    for (const followed of this.#parts.markets.values()) {
      if (mayRunOn(followed, nowMs)) knownMs = Math.min(knownMs, followed.recorder.endMs)
      if (mayHaveClosed(followed, nowMs, toMs)) knownMs = Math.min(knownMs, followed.figuresMs)
    }
    return knownMs
  }

  /** What an earlier run marked as final stays final. */
  async #readEarlier(): Promise<void> {
    const { plan, symbol, series, clock, signal } = this.#parts
    const feeds = MARKET_TYPES.map((type) => snapshotFeed(plan, symbol, type))
    const known = await readPatiently(() => series.finality(feeds), { clock, signal })
    this.#beforeMs = Math.max(this.#beforeMs, ...known.map(({ before }) => before))
  }
}
