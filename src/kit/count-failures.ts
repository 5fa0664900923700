import { type Clock, elapsedMs } from './clock.ts'

const SAY_EVERY_MS = 60_000

/**
 * Limits log lines about work that is retried every few seconds: the first failure is logged at once, and further ones
 * once a minute. Returns the number of failures since the last line, or 0 if there is nothing to log yet.
 */
export function countFailures(clock: Clock): () => number {
  let unsaid = 0
  let saidMs = Number.NEGATIVE_INFINITY
  return () => {
    unsaid += 1
    const nowMs = elapsedMs(clock)
    if (nowMs - saidMs < SAY_EVERY_MS) return 0
    const failures = unsaid
    unsaid = 0
    saidMs = nowMs
    return failures
  }
}
