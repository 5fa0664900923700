/**
 * The storage port for webhook subscriptions and their delivery jobs. Like the other ports it is asynchronous, and
 * nothing outside `store/` knows which engine runs.
 *
 *   event log ──plan──▶ jobs (+ position, in one transaction)
 *   job: waiting ──claim──▶ claimed ──settle──▶ delivered | failed (history) | waiting again, later
 *                  ▲            │
 *                  └────────────┘ the claim expired because its worker died
 *
 * A claim only moves the due time into the future: a job that nobody settles becomes due again at that time.
 */
export interface SubscriptionRecord {
  readonly id: string
  readonly accountId: string
  /**
   * The key that created the subscription, or the key that a rotation put in its place. If the key has a credit cap,
   * the key's budget is charged as well.
   */
  readonly keyId: string
  readonly url: string
  readonly kinds: readonly string[]
  readonly addresses: readonly string[]
  readonly batch: boolean
  readonly active: boolean
  readonly disabledReason: string | null
  readonly disabledAtMs: number | null
  readonly createdAtMs: number
  /** Signing secrets, encrypted. The previous one also signs until it expires. */
  readonly secret: string
  readonly previousSecret: string | null
  readonly previousUntilMs: number | null
  /** Time of the first failure since the last success. */
  readonly failingSinceMs: number | null
  readonly lastSuccessAtMs: number | null
}

/** The sort key of subscriptions, oldest first. */
export type SubscriptionPlace = Pick<SubscriptionRecord, 'createdAtMs' | 'id'>

export type NewSubscription = Pick<
  SubscriptionRecord,
  'id' | 'accountId' | 'keyId' | 'url' | 'kinds' | 'addresses' | 'batch' | 'createdAtMs' | 'secret'
>

/** Initial values of the remaining fields of a new subscription. */
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
 * An event as it is delivered; its text never changes. A job keeps the text it was planned with, because a log that was
 * lost may since have assigned the same number to another event.
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
  /** The position that the jobs follow; a different stored position means that another planner was faster. */
  readonly after: number
  readonly upTo: number
  /**
   * Version of the subscriptions that the jobs were chosen from. The plan is void if a subscription was created,
   * deleted, switched on or off, or given another selection since, because it may want one of these events. Omitted: not
   * checked.
   */
  readonly subscriptions?: number
  readonly events: readonly EventText[]
  readonly jobs: readonly NewJob[]
}

export interface Job {
  /** `dlv_…`, never reused, because it is also the id of the charge. */
  readonly id: string
  readonly subscriptionId: string
  /** Number of failed attempts. */
  readonly failures: number
  /** Proves the claim when the job is settled; opaque outside the store. */
  readonly claim: number
  readonly event: EventText
}

/** A subscription with at least one due job. */
export interface DueSubscription {
  readonly id: string
  /** How long ago its first job became due. */
  readonly overdueMs: number
}

/** Which jobs a worker takes and for how long. Jobs that it has not settled by then are due again. */
export interface JobClaim {
  readonly subscriptionId: string
  readonly limit: number
  /** No more jobs are taken once the texts of their events have reached this length. Omitted: any length. */
  readonly maxBytes?: number
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
  /** The header lines that were sent; null if nothing was sent. */
  readonly requestHead: string | null
  /** The beginning of the response's head and body; null if there was no response. */
  readonly responseHead: string | null
  readonly response: string | null
}
export type JobOutcome =
  | ({ readonly kind: 'delivered' } & JobAttempt)
  | ({ readonly kind: 'failed' } & JobAttempt)
  | ({ readonly kind: 'retry'; readonly delayMs: number } & JobAttempt)
  /** Not attempted: the job is returned and due at once. */
  | { readonly kind: 'release'; readonly job: ClaimedJob }

export interface ReceiverHealth {
  readonly subscriptionId: string
  readonly ok: boolean
  readonly atMs: number
  readonly disable: string | null
  /**
   * Disable only if the store also has the receiver as failing since this time or earlier, because another worker may
   * have delivered to it.
   */
  readonly failingBeforeMs?: number
}

export interface DeliveryRecord {
  /** The delivery's place in the list, as accepted by `before`. */
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
  /** From the last attempt: the header lines that were sent, and the beginning of the response's head and body. */
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

export interface VersionRange {
  /** Exclusive. */
  readonly after: number
  /** Inclusive. */
  readonly upTo: number
}

/** Values that a subscription must still have for a change to be applied. */
export type OnlyIf = Partial<Pick<SubscriptionRecord, 'secret' | 'keyId' | 'kinds' | 'addresses'>>

/**
 * Pending jobs of a deleted subscription are deleted in steps of DELETE_ROWS rows, at most MAX_DELETE_STEPS per call.
 */
export const DELETE_ROWS = 5_000
export const MAX_DELETE_STEPS = 20

export interface JobsStore {
  /**
   * An existing subscription with this id is returned unchanged. Undefined when the account already has the maximum
   * number.
   */
  createSubscription(
    subscription: NewSubscription,
    maxOfAccount: number,
  ): Promise<SubscriptionRecord | undefined>
  getSubscription(id: string): Promise<SubscriptionRecord | undefined>
  /**
   * Subscriptions of all accounts, by id. A page ends before the subscription whose addresses would make it longer than
   * about `maxChars`, but has at least one while there are more.
   */
  subscriptionPage(query: SubscriptionPageQuery): Promise<SubscriptionRecord[]>
  /** The account's subscriptions in order of creation, after a place; optionally only the active ones. */
  subscriptionPlaces(query: {
    accountId: string
    limit: number
    activeOnly?: boolean
    after?: SubscriptionPlace
  }): Promise<SubscriptionPlace[]>
  /** Returns undefined and changes nothing if the subscription does not exist or does not match `onlyIf`. */
  updateSubscription(
    id: string,
    patch: SubscriptionPatch,
    onlyIf?: OnlyIf,
  ): Promise<SubscriptionRecord | undefined>
  /**
   * Also deletes its pending jobs, in steps; `prune` deletes its history, and jobs left over if there are very many.
   */
  deleteSubscription(id: string): Promise<boolean>
  /** Increases whenever a subscription is created, changed by its owner, disabled or deleted. */
  subscriptionsVersion(): Promise<number>
  /**
   * The ids of the subscriptions concerned, so that a reader need not read all of them again. Undefined unless every
   * change between the versions is still listed.
   */
  subscriptionChanges(versions: VersionRange): Promise<string[] | undefined>

  /** How far the event log is planned; undefined before the first planning. */
  position(): Promise<number | undefined>
  /**
   * Returns where to continue in this log, which ends with `newestSeq`: at its end the first time, later at the stored
   * position. A different log than the one read so far is read from its beginning; one that went back, because an older
   * copy was restored, from its end. `before` is the position that was read before `newestSeq`; if another process has
   * moved it since, the stored position is returned.
   */
  startAt(log: LogEnd, before: number | undefined): Promise<number>
  /** The highest event number known to this store; 0 before the first. */
  highestSeq(): Promise<number>
  /** Returns false and writes nothing when `after` is no longer the position or the plan is void. */
  plan(planned: PlannedJobs): Promise<boolean>
  /**
   * Adds jobs without moving the position, for a replay. An event that is already pending for the subscription is not
   * added again. Returns the deliveries in the order of the jobs.
   */
  enqueue(planned: Pick<PlannedJobs, 'events' | 'jobs'>): Promise<Enqueued[]>
  /**
   * How many jobs are pending for the subscription and for all active subscriptions of the account, each counted up to
   * `limit`.
   */
  backlog(query: { subscriptionId: string; accountId: string; limit: number }): Promise<Backlog>

  due(): Promise<DueSubscription[]>
  claim(claim: JobClaim): Promise<Job[]>
  /**
   * If none of the outcomes applies any more, neither does the health: they were written before, or the claims have
   * expired. A repeated call must not disable a subscription again that its owner has enabled meanwhile.
   */
  settle(outcomes: readonly JobOutcome[], health: readonly ReceiverHealth[]): Promise<void>
  pending(): Promise<{ count: number; oldestAtMs: number | null }>
  /** Newest first, starting after the place `before`. */
  deliveries(query: { subscriptionId: string; limit: number; before?: string }): Promise<DeliveryRecord[]>
  delivery(subscriptionId: string, deliveryId: string): Promise<DeliveryRecord | undefined>
  /** The event of a delivery; it is stored only while a job is pending for it. */
  eventText(event: { readonly seq: number; readonly eventId: string }): Promise<EventText | undefined>
  /** Makes a pending delivery due now; false when it is no longer pending. */
  retryNow(subscriptionId: string, deliveryId: string): Promise<boolean>
  /**
   * Deletes some of the older history and of the rows that deleted subscriptions left; jobs that are pending for longer
   * fail.
   */
  prune(maxAgeMs: number): Promise<number>

  probe(): Promise<void>
  close(): Promise<void>
}
