/**
 * The past can wait. A timer of this thread that comes late means that the machine has more to do than it can: then
 * the backfill rests before its next stretch, so that live lines, their venues and callers are served first.
 */
import { setTimeout as realTime } from 'node:timers/promises'
import { type Clock, systemClock } from '../../kit/clock.ts'

const PROBE_MS = 5
/** A thread that is alone on its core is late by its own longest stretch of work. */
const LATE_MS = 40
/** The rest is so many times as long as the timer was late; never so long that the backfill stands still. */
const REST_PER_LATE = 5
const MAX_REST_MS = 2_000

export function createBackfillPace(time: {
  now: () => number
  sleep: (ms: number, signal: AbortSignal) => Promise<unknown>
}): (signal: AbortSignal) => Promise<void> {
  return async (signal) => {
    const askedMs = time.now()
    await time.sleep(PROBE_MS, signal)
    const lateMs = time.now() - askedMs - PROBE_MS
    if (lateMs > LATE_MS) await time.sleep(Math.min(MAX_REST_MS, lateMs * REST_PER_LATE), signal)
  }
}

const pace = createBackfillPace({
  now: () => performance.now(),
  sleep: (ms, signal) => realTime(ms, undefined, { signal }),
})

/** A recorder whose clock is not the machine's does not wait for the machine. */
export async function restWhileBusy(clock: Clock, signal: AbortSignal): Promise<void> {
  if (clock === systemClock) await pace(signal)
}
