import type { Clock } from '../../src/kit/clock.ts'

/** For tests: whoever sleeps wakes at once, that much later. Deadlines never come. */
export function leapingClock(startMs: number): Clock {
  let nowMs = startMs
  return {
    now: () => nowMs,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted()
      nowMs += ms
    },
    after: () => () => {},
  }
}
