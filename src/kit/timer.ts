/**
 * The longest delay of `setTimeout`. A longer one becomes one millisecond, so that a loop that waits for a distant time
 * (a clock that was set back by a year, a schedule) would spin.
 */
const MAX_TIMER_MS = 2 ** 31 - 1

/** A valid delay for the time that is left. */
export function timerMs(leftMs: number): number {
  if (Number.isNaN(leftMs)) return 1
  return Math.min(Math.max(leftMs, 0), MAX_TIMER_MS)
}
