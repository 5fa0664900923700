import { type Clock, elapsedMs } from '../kit/clock.ts'

/** Longer than a change of nodes or a short absence of the store takes. */
const FAILING_MS = 30_000

/**
 * Notices work that is tried again and again without success, because the part that does it runs, but gets nowhere.
 * Only the time between failures counts: work that is not asked for does not fail.
 */
export function watchFailures(clock: Clock) {
  let failing: { readonly sinceMs: number; readonly forMs: number; readonly reason: string } | undefined
  return {
    async watch<T>(work: Promise<T>): Promise<T> {
      try {
        const done = await work
        failing = undefined
        return done
      } catch (error) {
        const sinceMs = failing?.sinceMs ?? elapsedMs(clock)
        const reason = error instanceof Error ? error.message : String(error)
        failing = { sinceMs, forMs: elapsedMs(clock) - sinceMs, reason }
        throw error
      }
    },
    /** Throws if the work has been failing for a while. */
    probe(): void {
      if (failing === undefined || failing.forMs < FAILING_MS) return
      throw new Error(`it has been failing for ${Math.round(failing.forMs / 1000)} s: ${failing.reason}`)
    },
  }
}
