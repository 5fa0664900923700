/**
 * A clock that runs as fast as the machine allows: time moves by a step only after the event loop has come round,
 * so a busy machine makes a run longer but never makes a socket look silent.
 */
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../../src/kit/clock.ts'

export interface PacedClock extends Clock {
  /** Runs until the instant; everything that sleeps on the clock goes on meanwhile. */
  runUntil(timeMs: number): Promise<void>
  /** Keeps running in the background until the promise settles. */
  during<T>(work: Promise<T>): Promise<T>
}

const TURNS_PER_STEP = 3

export function pacedClock(startMs: number, stepMs = 100): PacedClock {
  let nowMs = startMs
  const sleepers = new Map<number, { atMs: number; wake: () => void }>()
  let nextId = 0

  async function step(): Promise<void> {
    nowMs += stepMs
    const due = [...sleepers].filter(([, { atMs }]) => atMs <= nowMs)
    for (const [id, { wake }] of due.sort((a, b) => a[1].atMs - b[1].atMs)) {
      sleepers.delete(id)
      wake()
    }
    for (let i = 0; i < TURNS_PER_STEP; i++) await turn()
    await wait(1)
  }

  return {
    now: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const id = nextId++
        const onAbort = () => {
          sleepers.delete(id)
          reject(signal?.reason)
        }
        const wake = () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        }
        sleepers.set(id, { atMs: nowMs + ms, wake })
        signal?.addEventListener('abort', onAbort, { once: true })
      }),
    async runUntil(timeMs) {
      while (nowMs < timeMs) await step()
    },
    async during(work) {
      let isDone = false
      const watched = work.finally(() => {
        isDone = true
      })
      watched.catch(() => {})
      while (!isDone) await step()
      return watched
    },
  }
}
