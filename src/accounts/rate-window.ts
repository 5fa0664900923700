/**
 * Two sliding windows over one account's requests: exact over the last second, in one-second steps over the last
 * minute. They slide so that a burst across the edge of a fixed window cannot get twice the rate. If several processes
 * serve the account, what the others have admitted is subtracted, see shared-window.ts.
 */
const SECOND_MS = 1_000
const MINUTE_BUCKETS = 60

export interface RateLimits {
  readonly perSecond: number
  readonly perMinute: number
}

/** What other processes have admitted in the windows that end now. */
export interface OthersAdmitted {
  inSecond(nowMs: number): number
  inMinute(nowMs: number): number
  /** Notes that this process has admitted requests. */
  count(nowMs: number, amount: number): void
}

export interface RateState {
  /** The window that is closest to exhaustion. */
  window: 'second' | 'minute'
  limit: number
  remaining: number
  /** When that window is completely free again. */
  resetsAtMs: number
}

export class RateWindow {
  readonly perSecond: number
  readonly perMinute: number
  #times: Float64Array
  #head = 0
  #inSecond = 0
  #buckets = new Uint32Array(MINUTE_BUCKETS)
  #bucketOf = 0
  #inMinute = 0
  #lastMs = 0
  readonly #others: OthersAdmitted | undefined

  constructor(limits: RateLimits, others?: OthersAdmitted) {
    this.#others = others
    this.perSecond = limits.perSecond
    this.perMinute = limits.perMinute
    this.#times = new Float64Array(limits.perSecond)
  }

  /** Counts `amount` requests, or counts nothing and returns in how many milliseconds they would fit. */
  take(nowMs: number, amount = 1): { ok: true } | { ok: false; retryAfterMs: number } {
    this.#expire(nowMs)
    const waitMs = Math.max(this.#secondWait(nowMs, amount), this.#minuteWait(nowMs, amount))
    if (waitMs > 0) return { ok: false, retryAfterMs: waitMs }
    for (let i = 0; i < amount; i++) {
      this.#times[(this.#head + this.#inSecond) % this.perSecond] = nowMs
      this.#inSecond++
    }
    const bucket = this.#bucketOf % MINUTE_BUCKETS
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + amount
    this.#inMinute += amount
    this.#lastMs = nowMs
    this.#others?.count(nowMs, amount)
    return { ok: true }
  }

  counts(nowMs: number): { second: number; minute: number } {
    this.#expire(nowMs)
    return {
      second: Math.min(this.perSecond, this.#inSecond + this.#othersInSecond(nowMs)),
      minute: Math.min(this.perMinute, this.#inMinute + this.#othersInMinute(nowMs)),
    }
  }

  state(nowMs: number): RateState {
    this.#expire(nowMs)
    const second = Math.max(0, this.perSecond - this.#inSecond - this.#othersInSecond(nowMs))
    const minute = Math.max(0, this.perMinute - this.#inMinute - this.#othersInMinute(nowMs))
    return second / this.perSecond <= minute / this.perMinute
      ? {
          window: 'second',
          limit: this.perSecond,
          remaining: second,
          resetsAtMs: this.#inSecond === 0 ? nowMs : this.#lastMs + SECOND_MS,
        }
      : {
          window: 'minute',
          limit: this.perMinute,
          remaining: minute,
          resetsAtMs: (Math.floor(this.#lastMs / SECOND_MS) + MINUTE_BUCKETS) * SECOND_MS,
        }
  }

  #othersInSecond(nowMs: number): number {
    return this.#others === undefined ? 0 : this.#others.inSecond(nowMs)
  }

  #othersInMinute(nowMs: number): number {
    return this.#others === undefined ? 0 : this.#others.inMinute(nowMs)
  }

  #expire(nowMs: number): void {
    // The machine's clock was set back: the counted times are in the future and would never expire.
    if (nowMs < this.#lastMs - SECOND_MS) this.#restart()
    while (this.#inSecond > 0 && (this.#times[this.#head] ?? 0) <= nowMs - SECOND_MS) {
      this.#head = (this.#head + 1) % this.perSecond
      this.#inSecond--
    }
    const current = Math.floor(nowMs / SECOND_MS)
    const steps = Math.min(current - this.#bucketOf, MINUTE_BUCKETS)
    for (let i = 1; i <= steps; i++) {
      const bucket = (this.#bucketOf + i) % MINUTE_BUCKETS
      this.#inMinute -= this.#buckets[bucket] ?? 0
      this.#buckets[bucket] = 0
    }
    if (steps > 0) {
      if (steps === MINUTE_BUCKETS) {
        this.#buckets.fill(0)
        this.#inMinute = 0
      }
      this.#bucketOf = current
    }
  }

  #restart(): void {
    this.#inSecond = 0
    this.#inMinute = 0
    this.#buckets.fill(0)
    this.#bucketOf = 0
    this.#lastMs = 0
  }

  #secondWait(nowMs: number, amount: number): number {
    const excess = this.#inSecond + amount + this.#othersInSecond(nowMs) - this.perSecond
    if (excess <= 0) return 0
    // The requests of this process alone do not free enough when they expire.
    if (excess > this.#inSecond) return SECOND_MS
    const freeing = this.#times[(this.#head + excess - 1) % this.perSecond] ?? nowMs
    return freeing + SECOND_MS - nowMs
  }

  #minuteWait(nowMs: number, amount: number): number {
    let excess = this.#inMinute + amount + this.#othersInMinute(nowMs) - this.perMinute
    if (excess <= 0) return 0
    for (let age = MINUTE_BUCKETS - 1; age >= 0; age--) {
      const second = this.#bucketOf - age
      excess -= this.#buckets[((second % MINUTE_BUCKETS) + MINUTE_BUCKETS) % MINUTE_BUCKETS] ?? 0
      if (excess <= 0) return (second + MINUTE_BUCKETS) * SECOND_MS - nowMs
    }
    return MINUTE_BUCKETS * SECOND_MS
  }
}
