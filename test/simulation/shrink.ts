/**
 * Finds the shortest schedule that still breaks a law: faults are left out, first in halves, then one by one, and the
 * remaining ones are made shorter. Every attempt is a whole simulation of the same seed, so the number is bounded.
 */
import type { ScheduledFault } from './schedule.ts'

const MIN_DURATION_MS = 1_000

export async function shrinkSchedule(
  schedule: readonly ScheduledFault[],
  isBroken: (schedule: readonly ScheduledFault[]) => Promise<boolean>,
  maxAttempts = 60,
): Promise<readonly ScheduledFault[]> {
  let shortest = schedule
  let left = maxAttempts
  const attempt = async (candidate: readonly ScheduledFault[]): Promise<boolean> => {
    if (left-- <= 0 || !(await isBroken(candidate))) return false
    shortest = candidate
    return true
  }
  for (let size = Math.ceil(shortest.length / 2); size >= 1 && left > 0; size = Math.floor(size / 2))
    for (let from = 0; from < shortest.length && left > 0; )
      if (!(await attempt(shortest.filter((_, index) => index < from || index >= from + size)))) from += size
  for (let index = 0; index < shortest.length && left > 0; index++)
    for (;;) {
      const fault = shortest[index]
      if (fault === undefined || fault.durationMs / 2 < MIN_DURATION_MS) break
      const shorter = { ...fault, durationMs: Math.round(fault.durationMs / 2) }
      if (!(await attempt(shortest.with(index, shorter)))) break
    }
  return shortest
}
