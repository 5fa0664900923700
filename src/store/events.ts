/**
 * The event log: every event has one number, assigned in the order of writing, without gaps at the end. Readers (the
 * stream, the webhooks) each have their own position. Only one process writes; any number read.
 */
export interface NewEvent {
  readonly kind: string
  readonly addresses: readonly string[]
  readonly createdAtMs: number
  /** The event's JSON from its third member on (`"kind":…}`): the log puts `{"id":…,"seq":…,` before it. */
  readonly tail: string
}

export interface StoredEvent {
  readonly seq: number
  readonly id: string
  readonly kind: string
  readonly addresses: readonly string[]
  readonly createdAtMs: number
  /** The whole event as JSON: the one serialisation that every reader forwards. */
  readonly text: string
}

/** One filter of a reader: a kind, and for kinds that have addresses perhaps only some of them. */
export interface EventFilter {
  readonly kinds: readonly string[]
  /** Left out: any addresses. Otherwise at least one must be among the event's own. */
  readonly addresses?: readonly string[]
}

export interface EventQuery {
  readonly afterSeq: number
  /** Inclusive; left out: the newest. */
  readonly untilSeq?: number
  /** An event is returned when any of them matches; left out: every event. */
  readonly filters?: readonly EventFilter[]
  /** Events returned at most. */
  readonly limit: number
  /** Text returned at most (the first event is returned even when it is longer). */
  readonly maxBytes?: number
}

export interface EventPage {
  readonly events: readonly StoredEvent[]
  /** Everything up to here was checked: the position to continue from, also when nothing was found. */
  readonly upToSeq: number
  /** There is more to check after `upToSeq`, within the query. */
  readonly more: boolean
}

export interface LogBounds {
  /** The oldest number that is still stored; newestSeq + 1 in an empty log. */
  readonly oldestSeq: number
  /** The newest number ever assigned; 0 before the first. */
  readonly newestSeq: number
  readonly bytes: number
}

export interface Retention {
  readonly maxAgeMs: number
  readonly maxBytes: number
}

/** Events are written by `ChainStore.write`, in one transaction with the rows that they are about. */
export interface EventStore {
  /** Bounded work per call: `more` may be true although fewer than `limit` were returned. */
  after(query: EventQuery): Promise<EventPage>
  byId(id: string): Promise<StoredEvent | undefined>
  bounds(): Promise<LogBounds>
  /** The log's own random name: another one is another log, which may give the same numbers to other events. */
  logId(): Promise<string>
  /**
   * The next number is above this one. For a log that was lost or restored: numbers it assigned before are not
   * reused.
   */
  numberAbove(seq: number): Promise<void>
  /** The number of the last event before that time (0 if none is stored): to continue from a time. */
  seqBefore(timeMs: number): Promise<number>
  /** Deletes a bounded number of the oldest events; to be repeated while `more`. */
  retain(retention: Retention): Promise<{ deleted: number; more: boolean }>
  /**
   * Calls with the newest number soon after any process has written events. A call can be missing: readers also look
   * now and then. Left out by an engine without notifications. The function ends it.
   */
  watch?(onGrown: (newestSeq: number) => void): () => void
}
