/**
 * Markets whose volume, as counted by the venue, is more than the sum of their trades. An answer for another time may
 * lack trades, and the volume itself may be wrong; so the trades are requested again and again before they count as
 * complete.
 *
 *   answer that lacks trades ──▶ doubted ──half an hour of such answers──▶ believed, until more is lacking than then,
 *                                                                          and a larger share of the volume
 */

import { DOUBTED_FOR_MS, type DoubtedTime, doubtedAgain, MAX_STEP_MS } from '../../venues/doubted-time.ts'

/** A market that was not requested for this long is no longer doubted. */
const KEPT_FOR_MS = 2 * 3_600_000

interface Doubt extends DoubtedTime {
  /** How many pieces were lacking for half an hour. */
  readonly believed: number
  /**
   * The smallest share of the volume that was lacking since. If the volume is always wrong by the same factor, the lack
   * grows with it.
   */
  readonly believedPart: number
  readonly isDoubted: boolean
}

export class DoubtedVolumes {
  readonly #doubts = new Map<string, Doubt>()

  /** Called when nothing of a market is lacking. */
  settled(marketId: string): void {
    this.#doubts.delete(marketId)
  }

  /**
   * Whether a doubted market was requested too recently. At first it is requested again at once, later less and less
   * often.
   */
  isTooEarly(marketId: string, nowMs: number): boolean {
    const doubt = this.#doubts.get(marketId)
    return doubt?.isDoubted === true && nowMs < doubt.lastMs + Math.min(doubt.doubtedMs, MAX_STEP_MS)
  }

  /** Whether an answer that was just received, and lacks this many pieces of the volume, may be wrong. */
  isDoubted(marketId: string, lacking: number, volume: number, nowMs: number): boolean {
    for (const [id, { lastMs }] of this.#doubts) if (nowMs > lastMs + KEPT_FOR_MS) this.#doubts.delete(id)
    if (lacking === 0) {
      this.settled(marketId)
      return false
    }
    const before = this.#doubts.get(marketId)
    const { believed = 0, believedPart = 0 } = before ?? {}
    const part = volume > 0 ? lacking / volume : 1
    // If nothing at all was received, the share is always 1, however much is lacking.
    if (lacking <= believed || (part < 1 && part <= believedPart)) {
      const smallest = Math.min(believedPart, part)
      this.#doubts.set(marketId, {
        ...{ lastMs: nowMs, doubtedMs: 0, believed, believedPart: smallest, isDoubted: false },
      })
      return false
    }
    const doubt = doubtedAgain(before, nowMs)
    const isDoubted = doubt.doubtedMs < DOUBTED_FOR_MS
    this.#doubts.set(
      marketId,
      isDoubted
        ? { ...doubt, believed, believedPart, isDoubted }
        : { lastMs: nowMs, doubtedMs: 0, believed: lacking, believedPart: part, isDoubted },
    )
    return isDoubted
  }
}
