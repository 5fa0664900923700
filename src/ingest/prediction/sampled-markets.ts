/**
 * The markets whose books are sampled about now. Most known markets ended a while ago or begin later, and only the
 * others need to be checked twice a second.
 */
import type { FollowedMarket } from './followed-market.ts'
import { SAMPLE_BEFORE_MS } from './market-times.ts'
import type { MarketRecorder } from './record-market.ts'

/** The last sample of a market is taken after its end, and even later if the thread was busy. */
const MARGIN_MS = 5 * 60_000

export class SampledMarkets {
  readonly #markets: ReadonlyMap<string, FollowedMarket>
  #listed: MarketRecorder[] = []
  /** The list is valid from `#fromMs` until before `#toMs`. */
  #fromMs = Number.NEGATIVE_INFINITY
  #toMs = Number.NEGATIVE_INFINITY

  constructor(markets: ReadonlyMap<string, FollowedMarket>) {
    this.#markets = markets
  }

  /** A market was added or dropped. */
  changed(): void {
    this.#toMs = Number.NEGATIVE_INFINITY
  }

  at(timeMs: number): readonly MarketRecorder[] {
    if (timeMs < this.#fromMs || timeMs >= this.#toMs) this.#list(timeMs)
    return this.#listed
  }

  #list(timeMs: number): void {
    this.#listed = []
    this.#fromMs = Number.NEGATIVE_INFINITY
    this.#toMs = Number.POSITIVE_INFINITY
    for (const { recorder } of this.#markets.values()) {
      const beginsMs = recorder.startMs - SAMPLE_BEFORE_MS - MARGIN_MS
      const endsMs = recorder.endMs + MARGIN_MS
      if (beginsMs <= timeMs && timeMs < endsMs) this.#listed.push(recorder)
      for (const edgeMs of [beginsMs, endsMs])
        if (edgeMs > timeMs) this.#toMs = Math.min(this.#toMs, edgeMs)
        else this.#fromMs = Math.max(this.#fromMs, edgeMs)
    }
  }
}
