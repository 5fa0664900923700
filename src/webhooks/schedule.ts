/** The retry schedule: when a failed delivery is tried again. Jitter spreads every delay. */
const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
]
const JITTER = 0.2
export const MAX_RETRY_AFTER_MS = 10 * HOUR_MS

/**
 * Milliseconds until the next attempt, or undefined if there is none.
 *
 * @param failures how many attempts have failed, including the last
 * @param retryAfterMs the delay that the receiver requested; a retry never comes sooner
 * @param tookMs how long the attempt lasted, because the schedule counts from its beginning
 */
export function retryDelayMs(
  failures: number,
  retryAfterMs: number | undefined,
  random: () => number,
  {
    delaysMs = RETRY_DELAYS_MS,
    tookMs = 0,
  }: { delaysMs?: readonly number[] | undefined; tookMs?: number } = {},
): number | undefined {
  const plainMs = delaysMs[failures - 1]
  if (plainMs === undefined) return undefined
  const spreadMs = plainMs * (1 - JITTER + 2 * JITTER * random())
  return Math.round(Math.max(0, spreadMs - tookMs, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)))
}

/** The preferred and the first obsolete form of HTTP dates. */
const HTTP_DATE = /^[A-Za-z]{3,9}, /
/** The second one, which is in UTC without saying so. */
const ASCTIME_DATE = /^[A-Za-z]{3} [A-Za-z]{3} [ \d]\d [\d:]{8} \d{4}$/

/** `Retry-After` as seconds or as an HTTP date; undefined if it is neither. */
export function readRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d+$/.test(text)) return Number(text) * SECOND_MS
  const atMs = readDate(text)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}

function readDate(text: string): number {
  if (HTTP_DATE.test(text)) return Date.parse(text)
  return ASCTIME_DATE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN
}
