/**
 * The storage port for webhook subscriptions and their delivery jobs. Like the others it is asynchronous;
 * nothing outside `store/` knows which engine runs.
 *
 *   event log ──plan──▶ jobs (+ position, in one transaction)
 *   job: waiting ──claim──▶ claimed ──settle──▶ delivered | failed (history) | waiting again, later
 *                  ▲            │
 *                  └────────────┘ the claim ran out: its worker died
 *
 * A claim is nothing but a due time in the future: a job that nobody settles is due again when it has passed.
 */
export interface SubscriptionRecord {
  readonly id: string
  readonly accountId: string
  /** The key that made it, until a rotation replaces it: its credit cap, if it has one, pays too. */
  readonly keyId: string
  readonly url: string
  readonly kinds: readonly string[]
  readonly addresses: readonly string[]
  readonly batch: boolean
  readonly active: boolean
  readonly disabledReason: string | null
  readonly disabledAtMs: number | null
  readonly createdAtMs: number
  /** Signing secrets, sealed. The previous one signs too until it expires. */
  readonly secret: string
  readonly previousSecret: string | null
  readonly previousUntilMs: number | null
  /** First failure since the last success. */
  readonly failingSinceMs: number | null
  readonly lastSuccessAtMs: number | null
}

/** The place of a subscription among the others: oldest first. */
export type SubscriptionPlace = Pick<SubscriptionRecord, 'createdAtMs' | 'id'>

export type NewSubscription = Pick<
  SubscriptionRecord,
  'id' | 'accountId' | 'keyId' | 'url' | 'kinds' | 'addresses' | 'batch' | 'createdAtMs' | 'secret'
>

/** The rest of a subscription that nobody has used yet. */
export const UNUSED_SUBSCRIPTION = {
  active: true,
  disabledReason: null,
  disabledAtMs: null,
  previousSecret: null,
  previousUntilMs: null,
  failingSinceMs: null,
  lastSuccessAtMs: null,
} as const satisfies Omit<SubscriptionRecord, keyof NewSubscription>

export type SubscriptionPatch = Partial<
  Pick<
    SubscriptionRecord,
    | 'kinds'
    | 'addresses'
    | 'batch'
    | 'active'
    | 'keyId'
    | 'disabledReason'
    | 'disabledAtMs'
    | 'secret'
    | 'previousSecret'
    | 'previousUntilMs'
    | 'failingSinceMs'
  >
>

/**
 * An event as it is delivered: its text is final. A job keeps the text that it was planned with: a log that was lost
 * may have assigned the same number to another event.
 */
export interface EventText {
  readonly seq: number
  readonly id: string
  readonly kind: string
  readonly text: string
}

export interface LogEnd {
  readonly id: string
  readonly newestSeq: number
}

export interface NewJob {
  readonly subscriptionId: string
  readonly seq: number
}

export interface PlannedJobs {
  /** The position that the jobs follow; another one means that another planner was faster. */
  readonly after: number
  readonly upTo: number
  /**
   * Version of the subscriptions that the jobs were chosen from; another one means that a subscription was created or
   * changed meanwhile, and that it may want an event of these. Left out: not checked.
   */
  readonly subscriptions?: number
  readonly events: readonly EventText[]
  readonly jobs: readonly NewJob[]
}

export interface Job {
  /** `dlv_…`, never reused: also the id of the charge. */
  readonly id: string
  readonly subscriptionId: string
  /** Failed attempts. */
  readonly failures: number
  /** Proves the claim when the job is settled; opaque outside the store. */
  readonly claim: number
  readonly event: EventText
}

/** One with a job that is due. */
export interface DueSubscription {
  readonly id: string
  /** How long ago the first of its jobs became due. */
  readonly overdueMs: number
}

/** Which jobs a worker takes, and for how long: they are due again when it has not settled them by then. */
export interface JobClaim {
  readonly subscriptionId: string
  readonly limit: number
  readonly claimMs: number
}

/** Identifies a claimed job. */
export type ClaimedJob = Pick<Job, 'id' | 'subscriptionId' | 'claim'>

export interface JobAttempt {
  readonly job: ClaimedJob
  readonly atMs: number
  readonly status: number | null
  readonly error: string | null
  readonly durationMs: number
  /** The header lines that were sent; null when nothing was. */
  readonly requestHead: string | null
  /** How the answer's head and body began; null without them. */
  readonly responseHead: string | null
  readonly response: string | null
}
export type JobOutcome =
  | ({ readonly kind: 'delivered' } & JobAttempt)
  | ({ readonly kind: 'failed' } & JobAttempt)
  | ({ readonly kind: 'retry'; readonly delayMs: number } & JobAttempt)
  /** Not tried: the job is given back, and due at once. */
  | { readonly kind: 'release'; readonly job: ClaimedJob }

export interface ReceiverHealth {
  readonly subscriptionId: string
  readonly ok: boolean
  readonly atMs: number
  readonly disable: string | null
  /** It is switched off only where the store has it as failing since then or before: another worker may have delivered. */
  readonly failingBeforeMs?: number
}

export interface DeliveryRecord {
  /** Its place in the list of deliveries: what `before` takes. */
  readonly place: string
  readonly id: string
  readonly eventId: string
  readonly seq: number
  readonly kind: string
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  readonly lastStatus: number | null
  readonly lastError: string | null
  readonly lastAttemptAtMs: number | null
  readonly durationMs: number | null
  readonly nextAttemptAtMs: number | null
  readonly createdAtMs: number
  /** Of the last attempt: the header lines that were sent, and how the answer's head and body began. */
  readonly lastRequestHead: string | null
  readonly lastResponseHead: string | null
  readonly lastResponse: string | null
}

export interface Enqueued {
  readonly deliveryId: string
  readonly isNew: boolean
}

export interface Backlog {
  readonly ofSubscription: number
  readonly ofAccount: number
}

export interface SubscriptionPageQuery {
  /** Empty: from the beginning. */
  readonly afterId: string
  readonly limit: number
  readonly maxChars: number
}

/** What a subscription has to have before a change. */
export type OnlyIf = Partial<Pick<SubscriptionRecord, 'secret' | 'keyId'>>

/** Pending jobs of a deleted subscription are deleted in steps of so many rows, and at most so many steps at once. */
export const DELETE_ROWS = 5_000
export const MAX_DELETE_STEPS = 20

export interface JobsStore {
  /** One with this id that was there before is left as it is. Undefined when the account has that many already. */
  createSubscription(
    subscription: NewSubscription,
    maxOfAccount: number,
  ): Promise<SubscriptionRecord | undefined>
  getSubscription(id: string): Promise<SubscriptionRecord | undefined>
  /**
   * Of all accounts, in the order of their ids. A page ends before the one whose addresses would make it longer than
   * about `maxChars`, and has at least one as long as there are more.
   */
  subscriptionPage(query: SubscriptionPageQuery): Promise<SubscriptionRecord[]>
  /** Those of an account, or only those that are switched on, in order of creation, after a place. */
  subscriptionPlaces(query: {
    accountId: string
    limit: number
    activeOnly?: boolean
    after?: SubscriptionPlace
  }): Promise<SubscriptionPlace[]>
  /** Undefined where there is none, or where it is not as `onlyIf` says: then nothing was changed. */
  updateSubscription(
    id: string,
    patch: SubscriptionPatch,
    onlyIf?: OnlyIf,
  ): Promise<SubscriptionRecord | undefined>
  /** With what waits for it, in steps; the rest of very much, and its history, are deleted by `prune`. */
  deleteSubscription(id: string): Promise<boolean>
  /** Grows whenever a subscription is created, changed by its owner, disabled or deleted. */
  subscriptionsVersion(): Promise<number>

  /** How far the event log is planned; undefined before the first time. */
  position(): Promise<number | undefined>
  /**
   * Where to continue in this log, which ends with `newestSeq`: at its end the first time, later where reading
   * stopped. Another log than the one that was read is read from its beginning; one that went back (an older copy was
   * restored), from its end. `before` is the position that was read before `newestSeq`: when another process has
   * moved it, the stored one counts.
   */
  startAt(log: LogEnd, before: number | undefined): Promise<number>
  /** The highest number of the event log that is known here; 0 before the first. */
  highestSeq(): Promise<number>
  /** False when `after` is not the position any more, or the subscriptions have changed: nothing was written. */
  plan(planned: PlannedJobs): Promise<boolean>
  /**
   * Jobs beside the position: a replay. An event that waits for the subscription already is not added again. Returns
   * the deliveries of the events, in order.
   */
  enqueue(planned: Pick<PlannedJobs, 'events' | 'jobs'>): Promise<Enqueued[]>
  /** How many jobs wait for a subscription, and for all active ones of the account; counted up to `limit`. */
  backlog(query: { subscriptionId: string; accountId: string; limit: number }): Promise<Backlog>

  due(): Promise<DueSubscription[]>
  claim(claim: JobClaim): Promise<Job[]>
  settle(outcomes: readonly JobOutcome[], health: readonly ReceiverHealth[]): Promise<void>
  pending(): Promise<{ count: number; oldestAtMs: number | null }>
  /** Newest first, after the place `before` in that order. */
  deliveries(query: { subscriptionId: string; limit: number; before?: string }): Promise<DeliveryRecord[]>
  delivery(subscriptionId: string, deliveryId: string): Promise<DeliveryRecord | undefined>
  /** The event of a delivery, stored as long as a job waits for it. */
  eventText(event: { readonly seq: number; readonly eventId: string }): Promise<EventText | undefined>
  /** A pending delivery becomes due now; false when it is not pending any more. */
  retryNow(subscriptionId: string, deliveryId: string): Promise<boolean>
  /** Deletes some of the history that is older, and of what deleted subscriptions have left. What waits for longer fails. */
  prune(maxAgeMs: number): Promise<number>

  probe(): Promise<void>
  close(): Promise<void>
}
