/** Request budgets of the venues, on their own clocks. */

export interface Verdict {
  used: number
  refused?: { status: 429 | 418; retryAfterS: number; untilMs: number }
}

export type WeightWindow = ReturnType<typeof createWeightWindow>

const FIRST_BAN_MS = 120_000
const MAX_BAN_MS = 3 * 86_400_000

/** A budget per fixed window. A client that keeps calling after a 429 is banned (418), each time for longer. */
export function createWeightWindow(options: {
  limit: number
  windowMs: number
  now: () => number
  /** Number of 429 answers in one window before a ban; if omitted, nobody is banned. */
  bansAfter?: number
}) {
  let windowStartMs = 0
  let used = 0
  let refusals = 0
  let bannedUntilMs = 0
  let banMs = FIRST_BAN_MS

  const refuse = (status: 429 | 418, untilMs: number, nowMs: number): Verdict => ({
    used,
    refused: { status, retryAfterS: Math.max(1, Math.ceil((untilMs - nowMs) / 1_000)), untilMs },
  })

  return {
    take(weight: number): Verdict {
      const nowMs = options.now()
      const startMs = Math.floor(nowMs / options.windowMs) * options.windowMs
      if (startMs !== windowStartMs) {
        windowStartMs = startMs
        used = 0
        refusals = 0
      }
      if (nowMs < bannedUntilMs) return refuse(418, bannedUntilMs, nowMs)
      used += weight
      if (used <= options.limit) return { used }
      refusals++
      if (refusals > (options.bansAfter ?? Number.POSITIVE_INFINITY)) {
        bannedUntilMs = nowMs + banMs
        banMs = Math.min(banMs * 2, MAX_BAN_MS)
        return refuse(418, bannedUntilMs, nowMs)
      }
      return refuse(429, startMs + options.windowMs, nowMs)
    },
  }
}

/** A token bucket that fills steadily; false if a request costs more than is left. */
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
