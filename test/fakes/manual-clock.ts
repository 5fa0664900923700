import type { Clock } from '../../src/kit/clock.ts'

export interface ManualClock extends Clock {
  set(timeMs: number): void
  /** Moves time forward and wakes every sleeper whose time has come, in order. */
  advance(ms: number): void
  /** The number of sleepers. */
  readonly sleepers: number
}

/** For tests: time moves only by `set` and `advance`. */
export function manualClock(startMs: number): ManualClock {
  let nowMs = startMs
  let sleepers: { atMs: number; wake: () => void }[] = []
  const wakeDue = () => {
    const due = sleepers.filter((s) => s.atMs <= nowMs).sort((a, b) => a.atMs - b.atMs)
    sleepers = sleepers.filter((s) => s.atMs > nowMs)
    for (const sleeper of due) sleeper.wake()
  }
  return {
    now: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const onAbort = () => {
          sleepers = sleepers.filter((s) => s !== sleeper)
          reject(signal?.reason)
        }
        const sleeper = {
          atMs: nowMs + ms,
          wake() {
            signal?.removeEventListener('abort', onAbort)
            resolve()
          },
        }
        sleepers.push(sleeper)
        signal?.addEventListener('abort', onAbort, { once: true })
      }),
    set(timeMs) {
      nowMs = timeMs
      wakeDue()
    },
    advance(ms) {
      nowMs += ms
      wakeDue()
    },
    get sleepers() {
      return sleepers.length
    },
  }
}
