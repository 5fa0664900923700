import type { RateWindow } from '../accounts/rate-window.ts'
import { ApiError } from '../core/errors.ts'

type Kind = 'rate_limited' | 'rate_limit_exceeded'

/**
 * Counts the request, or refuses it with the time to wait. A batch larger than the rate could never pass. Its error
 * states the largest possible size and when a batch of that size will pass, and it counts as one request because its
 * body was read.
 *
 * @param batch how many requests it counts for, of which `counted` have already been counted
 */
export function limitRate(rate: RateWindow, nowMs: number, kind: Kind, batch = 1, counted = 0): void {
  const limits = `${rate.perSecond} requests per second (${rate.perMinute} per minute)`
  const maxBatch = Math.min(rate.perSecond, rate.perMinute)
  if (batch > maxBatch) {
    if (counted === 0) rate.take(nowMs, 1)
    const text = `A batch of ${batch} counts as ${batch} requests, which is more than the rate of ${limits} ever allows at once. Send at most ${maxBatch} in a batch.`
    throw refusal(kind, text, rate.state(nowMs).resetsAtMs - nowMs, {
      reason: 'batch_above_rate',
      max_batch: maxBatch,
    })
  }
  if (batch <= counted) return
  const verdict = rate.take(nowMs, batch - counted)
  if (verdict.ok) return
  throw refusal(kind, `The rate of ${limits} is exceeded.`, verdict.retryAfterMs)
}

/** Every 429 names the time to wait. */
function refusal(kind: Kind, text: string, waitMs: number, detail: Record<string, unknown> = {}): ApiError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new ApiError(kind, `${text} Try again in ${seconds} s.`, { ...detail, retry_after: seconds }, [
    ['Retry-After', String(seconds)],
  ])
}
