/**
 * Samples streamed open interest on a five-minute grid: the sample of a grid point is the last observation up to it.
 */
import { INTERVAL_MS } from '../../core/interval.ts'
import type { OpenInterestInput } from '../../core/rows/open-interest.ts'
import type { OpenInterestObservation } from '../../venues/observation.ts'

export const OPEN_INTEREST_GRID_MS = INTERVAL_MS['5m']
/** An observation may be at most this much older than the grid point. */
const FRESH_MS = 30_000

export class OpenInterestSampler {
  private latest: { receivedMs: number; openInterest: string; valueUsd: string } | undefined
  private awaitedMs: number | undefined

  /** Returns the sample of the grid point that passed before this observation, if any. */
  receive({ receivedMs, openInterest, valueUsd }: OpenInterestObservation): OpenInterestInput | undefined {
    if (valueUsd === null) return undefined
    const sample = this.pass(receivedMs - 1)
    this.latest = { receivedMs, openInterest, valueUsd }
    return sample
  }

  /** Everything up to an instant has been received: returns the sample of the grid point that has passed, if any. */
  pass(receivedToMs: number): OpenInterestInput | undefined {
    const { latest } = this
    if (latest === undefined) return undefined
    this.awaitedMs ??= Math.ceil(latest.receivedMs / OPEN_INTEREST_GRID_MS) * OPEN_INTEREST_GRID_MS
    const gridMs = this.awaitedMs
    if (gridMs > receivedToMs) return undefined
    this.awaitedMs =
      Math.floor(receivedToMs / OPEN_INTEREST_GRID_MS) * OPEN_INTEREST_GRID_MS + OPEN_INTEREST_GRID_MS
    if (latest.receivedMs > gridMs || gridMs - latest.receivedMs > FRESH_MS) return undefined
    return { time: gridMs, openInterest: latest.openInterest, openInterestUsd: latest.valueUsd }
  }

  /** The grid point whose sample is not decided yet. */
  get nextMs(): number {
    return this.awaitedMs ?? Number.POSITIVE_INFINITY
  }

  /** Whether the sample of a grid point is decided. */
  hasPassed(gridMs: number): boolean {
    return this.awaitedMs !== undefined && this.awaitedMs > gridMs
  }
}
