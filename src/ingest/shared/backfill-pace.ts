/**
 * The past can wait: when timers of this thread fire late, the machine has more to do than it can: then the backfill
 * rests before its next chunk, so that live data, venues and callers are served first.
 */
import type { Clock } from '../../kit/clock.ts'

const PROBE_MS = 5
/** A thread that has a core to itself is late by its own longest piece of work. */
const LATE_MS = 40
/** The rest is so many times as long as the timer was late, up to a maximum: a backfill never stops. */
const REST_PER_LATE = 5
const MAX_REST_MS = 2_000

/** Rests before the next chunk of a backfill, if the machine is busy. `isAwaited`: live data waits for this chunk. */
export type BackfillPace = (signal: AbortSignal, isAwaited?: boolean) => Promise<void>

/** While there is no room for it, it is looked so often whether there is some. */
const ROOM_MS = 5_000

/** The past can be requested later, what happens now cannot: the backfill waits while the disk is nearly full. */
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
