/**
 * A clock that runs as fast as the machine allows: time moves by a step only after everything that was sent in the last
 * one was received, so a busy machine makes a run longer but never makes a socket look silent. Another process may
 * follow it: each step begins there, and waits until that process has come round.
 */
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../../src/kit/clock.ts'
import { ownConnections } from '../sent-bytes.ts'

export interface PacedClock extends Clock {
  /** Runs until the instant; everything that sleeps on the clock goes on meanwhile. */
  runUntil(timeMs: number): Promise<void>
  /** Keeps running in the background until the promise settles. */
  during<T>(work: Promise<T>): Promise<T>
  /** Called with each new time before this clock moves to it; resolves when the follower has moved. */
  follower: ((nowMs: number) => Promise<void>) | undefined
}

const TURNS_PER_STEP = 3

export function pacedClock(startMs: number, stepMs = 100): PacedClock {
  const received = ownConnections()
  const steered = steeredClock(startMs, () => (clock.follower === undefined ? received() : comeRound()))

  async function step(): Promise<void> {
    const nextMs = steered.now() + stepMs
    await clock.follower?.(nextMs)
    await steered.moveTo(nextMs)
  }

  const clock: PacedClock = {
    now: steered.now,
    sleep: steered.sleep,
    follower: undefined,
    async runUntil(timeMs) {
      while (steered.now() < timeMs) await step()
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
  return clock
}

export interface SteeredClock extends Clock {
  /** Wakes who slept until then, and resolves when the event loop has come round. */
  moveTo(timeMs: number): Promise<void>
}

async function comeRound(): Promise<void> {
  for (let i = 0; i < TURNS_PER_STEP; i++) await turn()
  await wait(1)
}

/** @param settle resolves when what those did who were woken is done */
export function steeredClock(startMs: number, settle = comeRound): SteeredClock {
  let nowMs = startMs
  const sleepers = new Map<number, { atMs: number; wake: () => void }>()
  let nextId = 0
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
    async moveTo(timeMs) {
      nowMs = timeMs
      const due = [...sleepers].filter(([, { atMs }]) => atMs <= nowMs)
      for (const [id, { wake }] of due.sort((a, b) => a[1].atMs - b[1].atMs)) {
        sleepers.delete(id)
        wake()
      }
      await settle()
    },
  }
}
