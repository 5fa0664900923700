import type { Clock } from '../../src/kit/clock.ts'

/** For tests: a sleep returns at once and moves the time forward by its length. Deadlines never fire. */
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
