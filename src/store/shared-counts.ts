/**
 * The storage port of what every process counts and the plan limits for all of them together: requests in a window of
 * time, open connections, heavy calls.
 *
 *   process A: own counts ──exchange──▶ store ──exchange──▶ process B: what the others have
 *
 * A process always writes its whole count, never a difference: a count that was lost (the table of a server that crashed
 * is empty) is there again after the next exchange.
 */
export interface OwnCount {
  readonly name: string
  /** When the counted window began, by the store's clock; 0 for something that has no window, such as connections. */
  readonly windowStartMs: number
  readonly count: number
  /** How long the others add it to theirs, unless it is written again. */
  readonly validMs: number
}

export interface OthersCounts {
  /** The sums of all other processes, in the order of the own counts. */
  readonly others: readonly number[]
  /** How many processes have exchanged counts within HOLDER_MS, this one included. */
  readonly processes: number
  /** The store's clock. */
  readonly nowMs: number
}

export interface SharedCounts {
  /** Writes the counts of a process and returns those of the others. A name and window occurs once in `counts`. */
  exchangeCounts(own: { holder: string; counts: readonly OwnCount[] }): Promise<OthersCounts>
}

/** A process that has not exchanged anything for this long is not among those that share a limit. */
export const HOLDER_MS = 3_000
