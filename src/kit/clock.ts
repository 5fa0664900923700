import { timerMs } from './timer.ts'

/** Time is passed in, never read, so that a test can stop it, jump or run fast. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after that many milliseconds of this clock; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Milliseconds from any beginning; unlike `now` it never jumps when the system's time is set. See `elapsedMs`. */
  elapsed?(): number
}

/** For durations and time limits. A clock that has no such reading, as in tests, gives its time. */
export function elapsedMs(clock: Clock): number {
  return clock.elapsed === undefined ? clock.now() : clock.elapsed()
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const endsAt = performance.now() + ms
      const onTimer = () => {
        const leftMs = endsAt - performance.now()
        if (leftMs > 1) {
          timer = setTimeout(onTimer, timerMs(leftMs))
          return
        }
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }
      let timer = setTimeout(onTimer, timerMs(ms))
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
}

/** Calls `run` once, after that many milliseconds of the clock. The function cancels it. */
export function runAfter(clock: Clock, ms: number, run: () => void): () => void {
  const cancelled = new AbortController()
  clock.sleep(ms, cancelled.signal).then(run, () => {})
  return () => cancelled.abort()
}

/** Calls `run` again and again, with that many milliseconds of the clock in between. The function ends it. */
export function runEvery(clock: Clock, ms: number, run: () => void): () => void {
  const ended = new AbortController()
  const loop = async () => {
    while (!ended.signal.aborted) {
      await clock.sleep(ms, ended.signal)
      run()
    }
  }
  loop().catch((error) => {
    if (!ended.signal.aborted) throw error
  })
  return () => ended.abort()
}

export interface ManualClock extends Clock {
  set(timeMs: number): void
  /** Moves time forward and wakes every sleeper whose time has come, in order. */
  advance(ms: number): void
  /** How many are sleeping. */
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
