import { DAY_MS } from '../../core/time.ts'

/** An index that is being followed always has a newer block than this. */
const MAX_AGE_OF_NEWEST_MS = 7 * DAY_MS

/** The times between these two, both excluded. */
export interface PrunedTimes {
  readonly afterMs: number
  readonly beforeMs: number
}

/**
 * The time from which ages in the index and the log are counted. If the newest block is long past, the clock may have
 * been set far ahead: then ages are counted from the time of that block, which comes from the chain. Rows written under
 * such a clock have its times, and their ages are counted from it.
 *
 *   ──────────────┬─────────── newest block ── a week ──┬────────────────┬──────────── now ──▶
 *    pruned       │ retained                            │ pruned         │ retained
 */
export class PruneTime {
  readonly #nowMs: number
  /** Ages of times up to `latestMs` are counted from here. */
  readonly #fromMs: number
  /** No row that was written under a correct clock has a later time. */
  readonly latestMs: number
  /**
   * Later times come from a clock that was ahead. Never before the newest block, because the clock may also be behind
   * now.
   */
  readonly futureAfterMs: number

  constructor(nowMs: number, newestBlockMs: number | null | undefined) {
    const latestMs = (newestBlockMs ?? nowMs) + MAX_AGE_OF_NEWEST_MS
    this.#nowMs = nowMs
    this.#fromMs = nowMs > latestMs ? (newestBlockMs ?? nowMs) : nowMs
    this.latestMs = Math.min(nowMs, latestMs)
    this.futureAfterMs = Math.max(nowMs, newestBlockMs ?? nowMs)
  }

  /** By the chain's time, rows before this are older than the given age. */
  border(maxAgeMs: number): number {
    return this.#fromMs - maxAgeMs
  }

  /** One span, or two if the clock is far ahead. */
  olderThan(maxAgeMs: number): readonly PrunedTimes[] {
    const old = { afterMs: -1, beforeMs: this.border(maxAgeMs) }
    const ahead = { afterMs: this.latestMs, beforeMs: this.#nowMs - maxAgeMs }
    return ahead.beforeMs > ahead.afterMs ? [old, ahead] : [old]
  }

  isFuture(timeMs: number): boolean {
    return timeMs > this.futureAfterMs
  }

  /** Times too far ahead for a clock that is merely inexact. */
  get farFuture(): PrunedTimes {
    return { afterMs: this.futureAfterMs + DAY_MS, beforeMs: Number.MAX_SAFE_INTEGER }
  }
}

export const isPruned = (timeMs: number, spans: readonly PrunedTimes[]): boolean =>
  spans.some(({ afterMs, beforeMs }) => timeMs > afterMs && timeMs < beforeMs)
