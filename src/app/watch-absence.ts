import { STARTING_MS } from '../api/endpoints/account/service-status.ts'
import type { Clock } from '../kit/clock.ts'
import { MAX_SILENCE_MS } from './part-reports.ts'

/**
 * How often what is present is noted, whether or not anybody asks: otherwise the first to ask for a while would hear that
 * something is absent if its leader changes at that moment.
 */
export const NOTE_EVERY_MS = 5_000

/** Tells what nobody does from what was not reported yet after the start of a process or changes its leader. */
export function watchAbsence<Name extends string>(clock: Clock) {
  const startedMs = clock.now()
  const absentFromMs = new Map<Name, number>()
  return {
    note: (present: Name) => void absentFromMs.set(present, clock.now() + MAX_SILENCE_MS),
    isAbsent: (name: Name) => clock.now() > (absentFromMs.get(name) ?? startedMs + STARTING_MS),
  }
}
