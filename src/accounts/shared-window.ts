/**
 * The rate of one account over several processes. Every process counts what it admits in windows of the store's clock,
 * and learns a moment later what the others have admitted in the same windows.
 *
 *   held by others = their count in this window + the part of the previous window that still slides
 *                    + the excess of all earlier windows
 *
 * Before the first exchange every process may admit the whole limit, so a window admits at most limit × processes. The
 * excess is subtracted from the following windows, so that the mean stays within the limit.
 */
export class SharedWindow {
  readonly sizeMs: number
  readonly #limit: number
  #startMs = 0
  #own = 0
  #others = 0
  #ownBefore = 0
  #othersBefore = 0
  /** Requests above the limit in the windows before the previous one. */
  #excessBefore = 0

  constructor(sizeMs: number, limit: number) {
    this.sizeMs = sizeMs
    this.#limit = limit
  }

  count(atMs: number, amount: number): void {
    this.#roll(atMs)
    this.#own += amount
  }

  heldByOthers(atMs: number): number {
    this.#roll(atMs)
    const left = Math.min(1, 1 - (atMs - this.#startMs) / this.sizeMs)
    return this.#others + Math.ceil(this.#othersBefore * left) + this.#excess()
  }

  /** This window and the previous one, with what this process has admitted. */
  own(atMs: number): { startMs: number; count: number }[] {
    this.#roll(atMs)
    return [
      { startMs: this.#startMs, count: this.#own },
      { startMs: this.#startMs - this.sizeMs, count: this.#ownBefore },
    ]
  }

  learn(startMs: number, others: number): void {
    if (startMs === this.#startMs) this.#others = others
    else if (startMs === this.#startMs - this.sizeMs) this.#othersBefore = others
  }

  #excess(): number {
    return Math.max(0, this.#excessBefore + this.#ownBefore + this.#othersBefore - this.#limit)
  }

  #roll(atMs: number): void {
    const startMs = Math.floor(atMs / this.sizeMs) * this.sizeMs
    // Never moves back by a small step, because the difference to the store's clock is measured repeatedly and varies a
    // little.
    if (startMs <= this.#startMs && startMs > this.#startMs - 2 * this.sizeMs) return
    const passed = (startMs - this.#startMs) / this.sizeMs
    const excess = this.#excess()
    if (passed === 1) {
      this.#excessBefore = excess
      this.#ownBefore = this.#own
      this.#othersBefore = this.#others
    } else {
      const atEnd = Math.max(0, excess + this.#own + this.#others - this.#limit)
      // After a clock was set back the excess is dropped, because what was counted lies in the future.
      this.#excessBefore = passed > 1 ? Math.max(0, atEnd - (passed - 2) * this.#limit) : 0
      this.#ownBefore = 0
      this.#othersBefore = 0
    }
    this.#startMs = startMs
    this.#own = 0
    this.#others = 0
  }
}
