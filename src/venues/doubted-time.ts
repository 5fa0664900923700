/**
 * Measures for how long the venue's answers have lacked trades that its own volume figure counts. If the trades do not
 * add up to the figure for half an hour, the figure itself is wrong; finality must not wait for it forever.
 */
export const DOUBTED_FOR_MS = 30 * 60_000
/** At most this much time counts between two answers, because time without an answer proves nothing. */
export const MAX_STEP_MS = 2 * 60_000

export interface DoubtedTime {
  readonly lastMs: number
  readonly doubtedMs: number
}

/** Called when another answer lacks trades. */
export function doubtedAgain(before: DoubtedTime | undefined, nowMs: number): DoubtedTime {
  const stepMs = before === undefined ? 0 : Math.min(Math.max(0, nowMs - before.lastMs), MAX_STEP_MS)
  return { lastMs: nowMs, doubtedMs: (before?.doubtedMs ?? 0) + stepMs }
}
