/**
 * The storage port of counts that a plan limits across all processes: requests in a time window, open connections,
 * heavy calls.
 *
 *   process A: own counts ──exchange──▶ store ──exchange──▶ process B: counts of the others
 *
 * A process always writes its whole count and never a difference, so that a count that was lost (after a server crash
 * its table is empty) is back after the next exchange.
 */
export interface OwnCount {
  readonly name: string
  /** When the counted window began, by the store's clock; 0 for counts without a window, such as connections. */
  readonly windowStartMs: number
  readonly count: number
  /** How long other processes include this count unless it is written again. */
  readonly validMs: number
}

export interface OthersCounts {
  /** The sums of all other processes, in the order of the own counts. */
  readonly others: readonly number[]
  /** Number of processes that exchanged counts within HOLDER_MS, including this one. */
  readonly processes: number
  /** The current time of the store's clock. */
  readonly nowMs: number
}

export interface SharedCounts {
  /**
   * Writes the counts of a process and returns those of the others. Each name and window occurs only once in `counts`.
   */
  exchangeCounts(own: { holder: string; counts: readonly OwnCount[] }): Promise<OthersCounts>
}

/** A process that has exchanged nothing for this long no longer counts among those that share a limit. */
export const HOLDER_MS = 3_000
