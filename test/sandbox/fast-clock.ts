/** A clock that runs some times faster than real time, from a chosen instant. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../../src/kit/clock.ts'

export function fastClock(options: { startMs: number; factor: number }): Clock {
  const { startMs, factor } = options
  const origin = performance.now()
  return {
    now: () => Math.floor(startMs + (performance.now() - origin) * factor),
    sleep: (ms, signal) => wait(ms / factor, undefined, signal === undefined ? {} : { signal }),
  }
}
