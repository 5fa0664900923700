/**
 * One timer for many deadlines: ticks while there is something to check. When a tick is late because the loop was
 * blocked, the sockets are read first: what arrived in the meantime is not overdue.
 */
export interface DeadlineTimer {
  /** Ticks until `tick` returns false. */
  start(): void
  stop(): void
}

const LATE_MS = 40

/** @param tick returns whether there is still something to check */
export function createDeadlineTimer(everyMs: number, tick: (nowMs: number) => boolean): DeadlineTimer {
  let timer: NodeJS.Timeout | undefined
  let again: NodeJS.Immediate | undefined
  let running = false
  let dueMs = 0

  function wait(): void {
    dueMs = performance.now() + everyMs
    timer = setTimeout(onTimer, everyMs)
  }
  function onTimer(): void {
    if (performance.now() - dueMs > LATE_MS) again = setImmediate(look)
    else look()
  }
  function look(): void {
    if (!running) return
    running = tick(performance.now())
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
      clearTimeout(timer)
      clearImmediate(again)
    },
  }
}
