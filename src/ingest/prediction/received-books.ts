/**
 * Until when the books of all markets of a symbol are known to have been received. Just after a pause, a frame of one
 * market proves nothing about the others, because the venue sends what it held back market by market.
 */
import { BURST_MS, SAMPLE_GRACE_MS } from './sample-market.ts'

export class ReceivedBooks {
  #lastMs = 0
  #pausedMs = 0
  #resumedMs = Number.NEGATIVE_INFINITY

  /** When a book was last received; 0 before the first. */
  get lastMs(): number {
    return this.#lastMs
  }

  received(atMs: number): void {
    // After a shorter pause, the samples of its time still wait anyway.
    if (atMs - this.#lastMs > SAMPLE_GRACE_MS) {
      this.#pausedMs = this.#lastMs
      this.#resumedMs = atMs
    }
    this.#lastMs = atMs
  }

  toMs(nowMs: number): number {
    return nowMs < this.#resumedMs + BURST_MS ? this.#pausedMs : this.#lastMs
  }
}
