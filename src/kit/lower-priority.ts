import { setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'

/**
 * Lowers the priority of this thread, so that threads that answer callers go first if there are more threads than
 * cores. On Linux a priority belongs to a thread (and is inherited by its children). Elsewhere it belongs to the whole
 * process, so nothing is done there.
 */
export function lowerPriority(level: number): void {
  if (isMainThread || process.platform !== 'linux') return
  try {
    setPriority(0, level)
  } catch {
    // Not permitted: all threads keep the same priority.
  }
}

/**
 * Recording yields to callers. The simulated venues get the same priority as the recorders, because with a lower one
 * they would look dead on a busy machine.
 */
export const RECORDER_NICE = 5
export const SANDBOX_NICE = 5
