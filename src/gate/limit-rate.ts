import type { RateWindow } from '../accounts/rate-window.ts'
import { ApiError } from '../core/errors.ts'

/** Counts the request, or refuses it with the time after which it would pass. */
export function limitRate(
  rate: RateWindow,
  nowMs: number,
  kind: 'rate_limited' | 'rate_limit_exceeded',
  amount = 1,
): void {
  const verdict = rate.take(nowMs, amount)
  if (verdict.ok) return
  const seconds = Math.max(1, Math.ceil(verdict.retryAfterMs / 1000))
  const limits = `${rate.perSecond} requests per second (${rate.perMinute} per minute)`
  const tooLarge = amount > rate.perSecond
  throw new ApiError(
    kind,
    tooLarge
      ? `A batch of ${amount} counts as ${amount} requests, which the rate of ${limits} never allows at once.`
      : `The rate of ${limits} is exceeded. Try again in ${seconds} s.`,
    { retry_after: seconds, ...(tooLarge ? { reason: 'batch_above_rate' } : {}) },
    [['Retry-After', String(seconds)]],
  )
}

/** Whether not even one more request fits. */
export function isRateFull(rate: RateWindow, nowMs: number): boolean {
  return rate.state(nowMs).remaining <= 0
}
