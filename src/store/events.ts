/**
 * The event log. Events are numbered in the order in which they are written, and no number becomes visible before a
 * lower one. Each reader (the stream, the webhooks) has its own position. Only one process writes, any number may read.
 */
export interface NewEvent {
  readonly kind: string
  readonly addresses: readonly string[]
  readonly createdAtMs: number
  /** The event's JSON from its third member on (`"kind":…}`); the log puts `{"id":…,"seq":…,` in front of it. */
  readonly tail: string
}

export interface StoredEvent {
  readonly seq: number
  readonly id: string
  readonly kind: string
  readonly addresses: readonly string[]
  readonly createdAtMs: number
  /** The whole event as JSON; every reader forwards exactly this text. */
  readonly text: string
}

/** One filter of a reader: event kinds, and for kinds with addresses optionally only some addresses. */
export interface EventFilter {
  readonly kinds: readonly string[]
  /** Omitted: any addresses. Otherwise the event must have at least one of them. */
  readonly addresses?: readonly string[]
}

export interface EventQuery {
  readonly afterSeq: number
  /** Inclusive; omitted: up to the newest. */
  readonly untilSeq?: number
  /** An event is returned if any filter matches; omitted: every event. */
  readonly filters?: readonly EventFilter[]
  /** Maximum number of events. */
  readonly limit: number
  /** Maximum length of all texts together; the first event is returned even if it is longer. */
  readonly maxBytes?: number
}

export interface EventPage {
  readonly events: readonly StoredEvent[]
  /** Everything up to here was checked. Reading continues from this position, even if nothing was found. */
  readonly upToSeq: number
  /** Whether the query has more to check after `upToSeq`. */
  readonly more: boolean
}

export interface LogBounds {
  /** The oldest stored number; newestSeq + 1 in an empty log. */
  readonly oldestSeq: number
  /** The newest number ever assigned; 0 before the first event. */
  readonly newestSeq: number
  readonly bytes: number
}

export interface Retention {
  readonly maxAgeMs: number
  readonly maxBytes: number
}

/** Events are written by `ChainStore.write`, in one transaction with the rows they describe. */
export interface EventStore {
  /** The work per call is bounded, so `more` may be true although fewer than `limit` events were returned. */
  after(query: EventQuery): Promise<EventPage>
  byId(id: string): Promise<StoredEvent | undefined>
  bounds(): Promise<LogBounds>
  /** The log's random name. A different name means a different log, which may give the same numbers to other events. */
  logId(): Promise<string>
  /**
   * Makes the next number higher than this one, so that a lost or restored log does not reuse numbers that it assigned
   * before.
   */
  numberAbove(seq: number): Promise<void>
  /**
   * The number of the last event before a time (0 if none is stored), for readers that continue from a time. The last
   * one is that with the latest time: its number need not be the highest, because the clock may have been ahead.
   */
  seqBefore(timeMs: number): Promise<number>
  /** Deletes a bounded number of the oldest events; call it again while `more` is true. */
  retain(retention: Retention): Promise<{ deleted: number; more: boolean }>
  /**
   * Calls `onGrown` with the newest number soon after any process has written events. A call may be missed, so readers
   * also poll. Engines without notifications omit this member. The returned function stops it.
   */
  watch?(onGrown: (newestSeq: number) => void): () => void
}
