import { type Clock, runAfter } from './clock.ts'

/** Wakes a waiting loop. Several rings while nobody waits count as one. */
export interface Wake {
  ring(): void
  /**
   * Resolves at the next ring (at once if there was one since the last wait), after that many milliseconds, or when
   * aborted.
   */
  wait(ms: number, signal: AbortSignal): Promise<void>
  /** Keeps waiting: rings within that many milliseconds count as one with the ring before. */
  gather(ms: number, signal: AbortSignal): Promise<void>
}

export function createWake(clock: Clock): Wake {
  let rung = false
  let waiter: (() => void) | undefined
  return {
    ring() {
      if (waiter === undefined) rung = true
      else waiter()
    },
    wait(ms, signal) {
      if (rung || signal.aborted) {
        rung = false
        return Promise.resolve()
      }
      return new Promise((resolve) => {
        const done = () => {
          cancel()
          signal.removeEventListener('abort', done)
          waiter = undefined
          resolve()
        }
        const cancel = runAfter(clock, ms, done)
        signal.addEventListener('abort', done, { once: true })
        waiter = done
      })
    },
    async gather(ms, signal) {
      await clock.sleep(ms, signal).catch(() => {})
      rung = false
    },
  }
}
