/**
 * A clock that runs as fast as the machine allows: time moves by a step only after everything sent in the last step was
 * received and threads have answered their calls. A busy machine makes a run longer, but never makes a socket look
 * silent, and never lets hours pass while a write waits for the disk. Another process may follow the clock: each step
 * begins there and waits until that process has finished it.
 */
import assert from 'node:assert/strict'
import { subscribe } from 'node:diagnostics_channel'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
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
/** A longer wait is a defect. Usual steps make two hours of it. */
const MAX_STEPS = 72_000

export function pacedClock(startMs: number, stepMs = 100): PacedClock {
  const received = ownConnections()
  const answered = ownThreads()
  const steered = steeredClock(startMs, () => (clock.follower === undefined ? settled() : comeRound()))

  async function settled(): Promise<void> {
    do await received()
    while (await answered())
  }

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
      for (let steps = 0; !isDone; steps++) {
        assert.ok(steps < MAX_STEPS, `not settled after ${steps} steps of the clock`)
        await step()
      }
      return watched
    },
  }
  return clock
}

/**
 * Waits for the threads of this process; false where none was busy. A thread keeps the process alive only while a call
 * is under way, and says so when it has closed what it had opened (`kit/thread-calls.ts`). Those that kept it alive
 * before work by themselves, and are not waited for.
 */
function ownThreads(): () => Promise<boolean> {
  const ending = new Set<Worker>()
  subscribe('worker_threads', (message) => {
    const { worker } = message as { worker: Worker }
    worker.on('message', (text) => {
      if (text === 'closed') ending.add(worker)
    })
    worker.once('exit', () => ending.delete(worker))
  })
  const active = () => process.getActiveResourcesInfo().filter((kind) => kind === 'MessagePort').length
  const before = active()
  const isBusy = () => active() > before || ending.size > 0
  return async () => {
    if (!isBusy()) return false
    while (isBusy()) await wait(1)
    return true
  }
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
