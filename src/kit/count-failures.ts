import { type Clock, elapsedMs } from './clock.ts'

const SAY_EVERY_MS = 60_000

/**
 * For what is tried again every few seconds: a failure is worth a line at once, and while it goes on once a minute. Gives
 * the number of failures since the last line, or 0 where there is nothing to say yet.
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
