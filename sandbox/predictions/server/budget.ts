/** Request budgets, in the venue's clock. */

/** So many requests per fixed window; false when used up. */
export function createWindowBudget(limit: number, windowMs: number, now: () => number): () => boolean {
  let window = 0
  let used = 0
  return () => {
    const current = Math.floor(now() / windowMs)
    if (current !== window) {
      window = current
      used = 0
    }
    return ++used <= limit
  }
}

/** A bucket of tokens that fills steadily; false when a request costs more than is left. */
export function createTokenBucket(options: {
  perSecond: number
  burst: number
  now: () => number
}): (cost: number) => boolean {
  let tokens = options.burst
  let lastMs = options.now()
  return (cost) => {
    const nowMs = options.now()
    tokens = Math.min(options.burst, tokens + (Math.max(0, nowMs - lastMs) / 1_000) * options.perSecond)
    lastMs = nowMs
    if (tokens < cost) return false
    tokens -= cost
    return true
  }
}
