import { type Clock, systemClock } from '../../src/kit/clock.ts'

/** For tests that set the date only: `now` moves only by `set` and `advance`, timers are real. */
export function setClock(startMs: number): Clock & { set(timeMs: number): void; advance(ms: number): void } {
  let nowMs = startMs
  return {
    ...systemClock,
    now: () => nowMs,
    set(timeMs) {
      nowMs = timeMs
    },
    advance(ms) {
      nowMs += ms
    },
  }
}
