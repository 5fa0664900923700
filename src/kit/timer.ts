/**
 * The longest time that `setTimeout` can wait for. What is longer it turns into one millisecond, so that a loop which
 * waits for a far moment (a clock that was set back by a year, a schedule) runs without a pause.
 */
const MAX_TIMER_MS = 2 ** 31 - 1

/** How long a timer may be told to wait for the time that is left. */
export function timerMs(leftMs: number): number {
  if (Number.isNaN(leftMs)) return 1
  return Math.min(Math.max(leftMs, 0), MAX_TIMER_MS)
}
