/**
 * Deadlines for data that this thread reads. After a busy phase, timers run late and before the sockets are read, so
 * unread data must not be mistaken for silence.
 */
import { setImmediate as immediate } from 'node:timers/promises'
import { type Clock, runAfter } from './clock.ts'

const STEP_MS = 1_000

/** Resolves once the first data that is waiting in the sockets has been read. */
export async function afterReading(): Promise<void> {
  await immediate()
}

/** Resolves after that much time in which sockets could be read: a late timer counts only with its planned length. */
export async function sleepReading(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= STEP_MS) {
    await clock.sleep(Math.min(STEP_MS, leftMs), signal)
    await afterReading()
    signal?.throwIfAborted()
  }
}

/** Calls `run` after that much time, counted as in `sleepReading`. The returned function cancels it. */
export function runAfterReading(clock: Clock, ms: number, run: () => void): () => void {
  let isCancelled = false
  let cancelTimer = () => {}
  const next = (leftMs: number) => {
    cancelTimer = runAfter(clock, Math.min(STEP_MS, leftMs), () =>
      setImmediate(() => {
        if (isCancelled) return
        if (leftMs > STEP_MS) next(leftMs - STEP_MS)
        else run()
      }),
    )
  }
  next(ms)
  return () => {
    isCancelled = true
    cancelTimer()
  }
}
