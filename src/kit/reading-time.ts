/**
 * Deadlines for things that are read by this thread. A thread that was busy runs its timers late and before its
 * sockets: what lies unread in them must not count as silence.
 */
import { setImmediate as immediate } from 'node:timers/promises'
import type { Clock } from './clock.ts'

const STEP_MS = 1_000

/** Lets everything that lies in the sockets by now be read. */
export async function afterReading(): Promise<void> {
  await immediate()
}

/** Resolves after that much time in which sockets could be read: of a late timer only its planned length counts. */
export async function sleepReading(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= STEP_MS) {
    await clock.sleep(Math.min(STEP_MS, leftMs), signal)
    await afterReading()
    signal?.throwIfAborted()
  }
}
