import { setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'

/**
 * Lets the threads that answer callers go first where there are fewer cores than threads. On Linux a priority
 * belongs to a thread (its children inherit it), elsewhere to the whole process: there nothing is done.
 */
export function lowerPriority(level: number): void {
  if (isMainThread || process.platform !== 'linux') return
  try {
    setPriority(0, level)
  } catch {
    // Not allowed here: everybody is equal then.
  }
}

/**
 * Recording waits a little rather than a caller. The simulated world waits as long as its recorders do and no longer,
 * or a busy machine would make its venues look dead.
 */
export const RECORDER_NICE = 5
export const SANDBOX_NICE = 5
