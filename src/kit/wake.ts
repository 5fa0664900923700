import { type Clock, runAfter } from './clock.ts'

/** Wakes a waiting loop. Calls while nobody waits count as one. */
export interface Wake {
  ring(): void
  /** Resolves at the next ring (at once if there was one meanwhile), after that many milliseconds, or with the signal. */
  wait(ms: number, signal: AbortSignal): Promise<void>
  /** Waits on: what rings within that many milliseconds counts as one with the ring before. */
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
