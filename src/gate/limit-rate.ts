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
  throw new ApiError(
    kind,
    `The rate of ${rate.perSecond} requests per second (${rate.perMinute} per minute) is exceeded. Try again in ${seconds} s.`,
    { retry_after: seconds },
    [['Retry-After', String(seconds)]],
  )
}
