import type { RateWindow } from '../accounts/rate-window.ts'
import { ApiError } from '../core/errors.ts'

/**
 * Counts the request, or refuses it with the time to wait. A batch larger than the rate could never pass. Its error
 * states the largest possible size, and it counts as one request because its body was read.
 *
 * @param batch how many requests it counts for, of which `counted` have already been counted
 */
export function limitRate(
  rate: RateWindow,
  nowMs: number,
  kind: 'rate_limited' | 'rate_limit_exceeded',
  batch = 1,
  counted = 0,
): void {
  const limits = `${rate.perSecond} requests per second (${rate.perMinute} per minute)`
  const maxBatch = Math.min(rate.perSecond, rate.perMinute)
  if (batch > maxBatch) {
    if (counted === 0) rate.take(nowMs, 1)
    const text = `A batch of ${batch} counts as ${batch} requests, which is more than the rate of ${limits} ever allows at once. Send at most ${maxBatch} in a batch.`
    throw new ApiError(kind, text, { reason: 'batch_above_rate', max_batch: maxBatch })
  }
  if (batch <= counted) return
  const verdict = rate.take(nowMs, batch - counted)
  if (verdict.ok) return
  const seconds = Math.max(1, Math.ceil(verdict.retryAfterMs / 1000))
  throw new ApiError(
    kind,
    `The rate of ${limits} is exceeded. Try again in ${seconds} s.`,
    { retry_after: seconds },
    [['Retry-After', String(seconds)]],
  )
}
