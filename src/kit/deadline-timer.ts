/**
 * One timer for many deadlines: ticks while there is something to look at. A tick that comes late because the
 * loop was stuck is given after the sockets were read once more: what arrived meanwhile is not overdue.
 */
export interface DeadlineTimer {
  /** Ticks from now on, until a tick says that nothing is left. */
  start(): void
  stop(): void
}

const LATE_MS = 40

/** `tick` says whether there is still something to look at. */
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
