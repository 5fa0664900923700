/** A budget as the callers know it: what was granted to it, and the most that its requests can have cost. */
const NOTICED_WITHIN_MS = 4_000
/** How soon after its answer a charge is written. */
const WRITTEN_WITHIN_MS = 2_000

export class Spending {
  readonly id: string
  readonly #now: () => number
  /** The credits charged by all answered requests. */
  #charged = 0
  /** The highest possible prices of requests that are not answered yet, or never will be. */
  #open = 0
  /** Charges of the last seconds, which may not be written yet. */
  #recent: { readonly atMs: number; readonly credits: number }[] = []
  /** The total that may ever be charged to it. */
  #limit: number
  #changedMs = Number.NEGATIVE_INFINITY
  /** What had been spent when the last change was known everywhere, which a lower limit does not undo. */
  #spentAtChange = 0

  constructor(id: string, limit: number, now: () => number) {
    this.id = id
    this.#limit = limit
    this.#now = now
  }

  /** Until a request is answered, only its highest possible price is known; the answer says what it cost. */
  asked(highest: number): void {
    this.#open += highest
  }

  answered(highest: number, charged: number): void {
    this.#open -= highest
    this.#charged += charged
    const atMs = this.#now()
    if (charged > 0) this.#recent.push({ atMs, credits: charged })
    while ((this.#recent[0]?.atMs ?? atMs) < atMs - WRITTEN_WITHIN_MS) this.#recent.shift()
    if (atMs < this.#changedMs + NOTICED_WITHIN_MS) this.#spentAtChange = this.#charged + this.#open
  }

  /** What is certainly left for a request of that time; 0 while a change may not be known everywhere yet. */
  leftFor(askedMs: number): number {
    if (askedMs < this.#changedMs + NOTICED_WITHIN_MS) return 0
    return this.#limit - this.#charged - this.#open
  }

  /** The most that may have been charged to it. */
  get most(): number {
    if (this.#now() < this.#changedMs + NOTICED_WITHIN_MS) return Number.POSITIVE_INFINITY
    return Math.max(this.#limit, this.#spentAtChange)
  }

  /** From now on this many credits are left, whatever was spent before, less charges that are not written yet. */
  grant(credits: number): void {
    const unwritten = this.#recent.reduce((sum, each) => sum + each.credits, 0)
    this.#change(this.#charged + credits - unwritten)
  }

  /** Sets the limit, which includes what was spent before. */
  limitTo(credits: number): void {
    this.#change(credits)
  }

  #change(limit: number): void {
    this.#limit = limit
    this.#changedMs = this.#now()
    this.#spentAtChange = this.#charged + this.#open
  }
}
