import { STARTING_MS } from '../api/endpoints/account/service-status.ts'
import type { Clock } from '../kit/clock.ts'
import { MAX_SILENCE_MS } from './part-reports.ts'

/** Tells what nobody does from what was not reported yet after the start of a process or changes its leader. */
export function watchAbsence<Name extends string>(clock: Clock) {
  const startedMs = clock.now()
  const absentFromMs = new Map<Name, number>()
  return {
    note: (present: Name) => void absentFromMs.set(present, clock.now() + MAX_SILENCE_MS),
    isAbsent: (name: Name) => clock.now() > (absentFromMs.get(name) ?? startedMs + STARTING_MS),
  }
}
