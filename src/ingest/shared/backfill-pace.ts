/**
 * The past can wait. Timers of this thread that fire late show that the machine is overloaded; the backfill then rests
 * before its next chunk, so that live data, venues and callers are served first.
 */
import type { Clock } from '../../kit/clock.ts'

const PROBE_MS = 5
/** Even with a core to itself, a thread's timers are late by its own longest piece of work. */
const LATE_MS = 40
/** The rest is this many times as long as the delay, up to a maximum, so that a backfill never stops. */
const REST_PER_LATE = 5
const MAX_REST_MS = 2_000

/** Rests before the next chunk of a backfill if the machine is busy. `isAwaited`: live data waits for this chunk. */
export type BackfillPace = (signal: AbortSignal, isAwaited?: boolean) => Promise<void>

/** While the disk is nearly full, it is checked this often for free space. */
const ROOM_MS = 5_000

/** The past can be requested later, live data cannot; so the backfill waits while the disk is nearly full. */
export function whileThereIsRoom(pace: BackfillPace, clock: Clock, isDiskLow: () => boolean): BackfillPace {
  return async (signal, isAwaited = false) => {
    while (!isAwaited && isDiskLow()) await clock.sleep(ROOM_MS, signal)
    await pace(signal, isAwaited)
  }
}

/** The clock must be the machine's own: on any other, late timers prove nothing about the machine. */
export function createBackfillPace(clock: Clock): BackfillPace {
  return async (signal) => {
    const startedMs = clock.now()
    await clock.sleep(PROBE_MS, signal)
    const lateMs = clock.now() - startedMs - PROBE_MS
    if (lateMs > LATE_MS) await clock.sleep(Math.min(MAX_REST_MS, lateMs * REST_PER_LATE), signal)
  }
}

export const noPace: BackfillPace = async () => {}
