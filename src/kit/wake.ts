import { timerMs } from './timer.ts'

/** A doorbell: rings that come while nobody waits are kept as one. */
export interface Wake {
  ring(): void
  /** Resolves at the next ring (at once when one was kept), after that many milliseconds, or with the signal. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export function createWake(): Wake {
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
          clearTimeout(timer)
          signal.removeEventListener('abort', done)
          waiter = undefined
          resolve()
        }
        const timer = setTimeout(done, timerMs(ms))
        signal.addEventListener('abort', done, { once: true })
        waiter = done
      })
    },
  }
}
