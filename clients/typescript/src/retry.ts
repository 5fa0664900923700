/** Whether a request is sent again, and after what delay. */
import type { ApiError } from './errors.ts'

const BASE_MS = 250
const MAX_BACKOFF_MS = 10_000
/** If the service asks for a longer wait, the caller decides whether to try again. */
const MAX_RETRY_AFTER_MS = 65_000

/** The service refused the request before doing anything. */
const NOTHING_DONE = [429, 503]
/** The request may have been carried out: it is repeated only if that is safe. */
const IN_DOUBT = [408, 500, 502, 504]
/** A request with the same Idempotency-Key is still in progress; a later attempt gets its answer. */
const IN_PROGRESS = 409
/** Reasons of refusals that another attempt would meet again, although their status is that of a temporary one. */
const PERMANENT = ['batch_above_rate', 'idempotency_quota', 'reply_quota', 'reply_too_large']

/**
 * A POST that changes something carries an Idempotency-Key, so the service carries it out once; a PATCH sets the same
 * values again.
 */
export function isRepeatable(method: string): boolean {
  return method !== 'DELETE'
}

export function shouldRetry(method: string, { status, details }: ApiError): boolean {
  if (PERMANENT.includes(String(details.reason))) return false
  if (NOTHING_DONE.includes(status)) return true
  if (status === IN_PROGRESS) return method === 'POST'
  return IN_DOUBT.includes(status) && isRepeatable(method)
}

/** Undefined if the wait would be too long. The random part keeps clients from retrying at the same moment. */
export function delayMs(
  attempt: number,
  retryAfterS: number | undefined,
  random: () => number,
): number | undefined {
  if (retryAfterS === undefined)
    return Math.min(MAX_BACKOFF_MS, BASE_MS * 2 ** attempt) * (0.5 + random() / 2)
  const wanted = retryAfterS * 1_000
  return wanted > MAX_RETRY_AFTER_MS ? undefined : wanted + random() * BASE_MS
}

/** In seconds; the header has either seconds or a date. */
export function readRetryAfter(value: string | null, nowMs: number): number | undefined {
  if (value === null || value.trim() === '') return undefined
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, (at - nowMs) / 1_000)
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
