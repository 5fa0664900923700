/**
 * The storage port of heartbeats, in which parts of the service report about themselves, so that every process shows
 * the same status. Requests of a command to a part, and the part's answers, are stored the same way.
 */
export interface Heartbeat {
  /** For example `record:cexa/live`. */
  readonly part: string
  /** JSON in the part's own format. */
  readonly text: string
}

export interface Heartbeats {
  /** Replaces the part's previous heartbeat. */
  putHeartbeat(heartbeat: Heartbeat): Promise<void>
  listHeartbeats(): Promise<(Heartbeat & { readonly ageMs: number })[]>
  /** Called for a part that was stopped, so that it is not mistaken for one that died. */
  removeHeartbeat(part: string): Promise<void>
}
