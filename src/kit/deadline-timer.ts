/**
 * One timer for many deadlines: ticks while there is something to check. When a tick is late because the loop was
 * blocked, the sockets are read first: what arrived in the meantime is not overdue.
 */
import { type Clock, elapsedMs, runAfter } from './clock.ts'

export interface DeadlineTimer {
  /** Ticks until `tick` returns false. */
  start(): void
  stop(): void
}

const LATE_MS = 40

/** @param tick returns whether there is still something to check */
export function createDeadlineTimer(
  clock: Clock,
  everyMs: number,
  tick: (nowMs: number) => boolean,
): DeadlineTimer {
  let cancel = () => {}
  let again: NodeJS.Immediate | undefined
  let running = false
  let dueMs = 0

  function wait(): void {
    dueMs = elapsedMs(clock) + everyMs
    cancel = runAfter(clock, everyMs, onTimer)
  }
  function onTimer(): void {
    if (elapsedMs(clock) - dueMs > LATE_MS) again = setImmediate(look)
    else look()
  }
  function look(): void {
    if (!running) return
    running = tick(elapsedMs(clock))
    if (running) wait()
  }
  return {
    start() {
      if (running) return
      running = true
      wait()
    },
    stop() {
      running = false
      cancel()
      clearImmediate(again)
    },
  }
}
