/**
 * The storage port of what parts of the service report about themselves: the status must not depend on who is asked. What
 * a command asks of a part, and its answer, are such reports, too.
 */
export interface Heartbeat {
  /** Such as `record:cexa/live`. */
  readonly part: string
  /** JSON of the part's own form. */
  readonly text: string
}

export interface Heartbeats {
  /** Replaces the earlier one of the part. */
  putHeartbeat(heartbeat: Heartbeat): Promise<void>
  listHeartbeats(): Promise<(Heartbeat & { readonly ageMs: number })[]>
  /** A part that was stopped is not taken for one that died. */
  removeHeartbeat(part: string): Promise<void>
}
