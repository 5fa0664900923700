/** Time is passed in, never read, so that a test can stop it, make it jump or run it faster. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after that many milliseconds of this clock; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `run` once after that many milliseconds; the returned function cancels it. See `runAfter`. */
  after?(ms: number, run: () => void): () => void
  /** Milliseconds from an arbitrary start. Unlike `now` it never jumps when the system time is set. See `elapsedMs`. */
  elapsed?(): number
  /**
   * After this process was suspended for `ms`, calls the listener before any time is read: data that waits in its
   * sockets is older than it seems. The returned function removes the listener. Absent if the clock does not detect
   * this.
   */
  onStandstill?(listener: (ms: number) => void): () => void
}

/** For durations and time limits. A clock without `elapsed`, as in tests, gives its time instead. */
export function elapsedMs(clock: Clock): number {
  return clock.elapsed === undefined ? clock.now() : clock.elapsed()
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const cancel = afterMs(ms, () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      const onAbort = () => {
        cancel()
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
  after: afterMs,
}

function afterMs(ms: number, run: () => void): () => void {
  const endsAt = performance.now() + ms
  const onTimer = () => {
    const leftMs = endsAt - performance.now()
    if (leftMs > 1) timer = setTimeout(onTimer, timerMs(leftMs))
    else run()
  }
  let timer = setTimeout(onTimer, timerMs(ms))
  return () => clearTimeout(timer)
}

/** Calls `run` once, after that many milliseconds of the clock. The returned function cancels it. */
export function runAfter(clock: Clock, ms: number, run: () => void): () => void {
  // Avoids promises and signals where possible, because much of the service waits this way several times a second.
  if (clock.after !== undefined) return clock.after(ms, run)
  const cancelled = new AbortController()
  clock.sleep(ms, cancelled.signal).then(run, () => {})
  return () => cancelled.abort()
}

/** Calls `run` repeatedly, with that many milliseconds of the clock in between. The returned function stops it. */
export function runEvery(clock: Clock, ms: number, run: () => void): () => void {
  let isEnded = false
  let cancel = () => {}
  const next = () => {
    cancel = runAfter(clock, ms, () => {
      run()
      if (!isEnded) next()
    })
  }
  next()
  return () => {
    isEnded = true
    cancel()
  }
}

/**
 * The longest delay of `setTimeout`. A longer one is treated as one millisecond, so that a loop that waits for a
 * distant time (a clock that was set back by a year, a schedule) would spin.
 */
const MAX_TIMER_MS = 2 ** 31 - 1

/** A valid timer delay for the remaining time. */
export function timerMs(leftMs: number): number {
  if (Number.isNaN(leftMs)) return 1
  return Math.min(Math.max(leftMs, 0), MAX_TIMER_MS)
}
