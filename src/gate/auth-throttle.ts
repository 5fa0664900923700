import { ApiError, type ErrorKind } from '../core/errors.ts'
import type { Clock } from '../kit/clock.ts'
import { addressGroup } from '../kit/ip-range.ts'
import { Lru } from '../kit/lru.ts'

/**
 * Delays the answers to repeated failed authentication from one address, longer each time. Requests with a valid key
 * are never delayed, even from the same address; the number of delayed answers is bounded.
 */
const WINDOW_MS = 60_000
const FREE_FAILURES = 20
const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 3_000
const MAX_DELAYED = 256
/** So that one address cannot use up all delayed answers. */
const MAX_DELAYED_PER_ADDRESS = 16
const REMEMBERED_ADDRESSES = 50_000
const RETRY_SECONDS = 5

export type AuthThrottle = ReturnType<typeof createAuthThrottle>

/** The answer to a failure that could not be delayed. */
export function tooManyFailures(kind: ErrorKind = 'rate_limited'): ApiError {
  const headers = [['Retry-After', String(RETRY_SECONDS)]] as const
  return new ApiError(kind, 'Too many failed attempts.', { retry_after: RETRY_SECONDS }, headers)
}

export function createAuthThrottle(clock: Clock) {
  const failures = new Lru<string, { count: number; sinceMs: number; delayed: number }>({
    maxEntries: REMEMBERED_ADDRESSES,
  })
  let delayed = 0
  return {
    /** Counts a failure and resolves when it may be answered; false if too many answers are already delayed. */
    async afterFailure(address: string): Promise<boolean> {
      const nowMs = clock.now()
      const name = addressGroup(address)
      const entry = failures.get(name) ?? { count: 0, sinceMs: nowMs, delayed: 0 }
      const ageMs = nowMs - entry.sinceMs
      if (ageMs < 0 || ageMs >= WINDOW_MS) {
        entry.count = 0
        entry.sinceMs = nowMs
      }
      entry.count++
      failures.set(name, entry)
      const excess = entry.count - FREE_FAILURES
      if (excess <= 0) return true
      if (delayed >= MAX_DELAYED || entry.delayed >= MAX_DELAYED_PER_ADDRESS) return false
      delayed++
      entry.delayed++
      try {
        await clock.sleep(Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(excess - 1, 10)))
        return true
      } finally {
        delayed--
        entry.delayed--
      }
    },
  }
}
