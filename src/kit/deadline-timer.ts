/**
 * One timer for many deadlines. It calls `look` at the time of the nearest one, which may have been met long before. If
 * the timer is late because the event loop was blocked, the sockets are read first, because data that arrived in the
 * meantime is not overdue.
 */
import { type Clock, elapsedMs, runAfter } from './clock.ts'

export interface DeadlineTimer {
  /** Adds a deadline at this time of the clock (see `elapsedMs`). */
  lookAt(atMs: number): void
  stop(): void
}

const LATE_MS = 40

/**
 * @param minWaitMs the precision: the shortest time between two looks
 * @param look returns the nearest remaining deadline; undefined if there is none
 */
export function createDeadlineTimer(
  clock: Clock,
  minWaitMs: number,
  look: (nowMs: number) => number | undefined,
): DeadlineTimer {
  let cancel = () => {}
  let again: NodeJS.Immediate | undefined
  let dueMs = Number.POSITIVE_INFINITY

  function onTimer(): void {
    if (elapsedMs(clock) - dueMs > LATE_MS) again = setImmediate(lookNow)
    else lookNow()
  }
  function lookNow(): void {
    dueMs = Number.POSITIVE_INFINITY
    const nextMs = look(elapsedMs(clock))
    if (nextMs !== undefined) lookAt(nextMs)
  }
  function lookAt(atMs: number): void {
    if (atMs >= dueMs) return
    const nowMs = elapsedMs(clock)
    const waitMs = Math.max(minWaitMs, atMs - nowMs)
    if (nowMs + waitMs >= dueMs) return
    cancel()
    dueMs = nowMs + waitMs
    cancel = runAfter(clock, waitMs, onTimer)
  }
  return {
    lookAt,
    stop() {
      cancel()
      clearImmediate(again)
      dueMs = Number.POSITIVE_INFINITY
    },
  }
}
