import type { Environment } from '../core/environment.ts'
import type { AuditEntry } from './audit-entry.ts'

/**
 * The storage port for accounts, keys, credits and usage. It is asynchronous so that an engine across the network can
 * implement it; nothing outside `store/` knows which engine runs.
 */
export interface AccountRecord {
  id: string
  email: string
  plan: string
  /** Day of the month (1 to 31) on which the credits are renewed. */
  billingDay: number
  /** Why the account's keys are paused; null while they work. */
  pausedReason: PauseReason | null
  createdAtMs: number
}

export const PAUSE_REASONS = ['payment_past_due', 'operator'] as const
export type PauseReason = (typeof PAUSE_REASONS)[number]

export interface KeyRecord {
  id: string
  accountId: string
  environment: Environment
  name: string
  /** The last four characters, to tell keys apart in a list. The key itself is not stored. */
  hint: string
  /** Null allows all scopes. */
  scopes: string[] | null
  /** Null allows any address. */
  allowedCidrs: string[] | null
  creditCap: number | null
  /**
   * The budget that counts towards the cap. A key and all its replacements by rotation share the budget of the first
   * key.
   */
  capBudgetId: string
  createdAtMs: number
  lastUsedAtMs: number | null
  expiresAtMs: number | null
  revokedAtMs: number | null
  /** The key that replaced this one by rotation. */
  replacedBy: string | null
}

export type NewAccount = Pick<AccountRecord, 'id' | 'email' | 'plan' | 'billingDay' | 'createdAtMs'>
export type NewKey = Omit<KeyRecord, 'lastUsedAtMs' | 'revokedAtMs' | 'replacedBy' | 'capBudgetId'> & {
  hash: string
}

/**
 * Charges of one key for one endpoint, written together. The id is unique, so writing an entry again changes nothing.
 */
export interface LedgerEntry {
  id: string
  /** Time of the first charge. All charges fall on the same day and in the same budget periods. */
  atMs: number
  accountId: string
  environment: Environment
  keyId: string
  endpoint: string
  /** The sum of all charges. */
  credits: number
  rows: number
  /** At least one; the price of each request or delivery. */
  charges: readonly { readonly id: string; readonly credits: number }[]
  /** Every budget that pays for the entry: the account's, and the key's own if the key has a credit cap. */
  budgets: readonly BudgetSpec[]
}

/** Requests that cost no credits: free answers, refusals and rate limits. */
export interface UsageCount {
  atMs: number
  accountId: string
  environment: Environment
  keyId: string
  endpoint: string
  requests: number
  failed: number
  rateLimited: number
}

/** How many keys an account may have. */
export interface KeyLimits {
  /** Keys that are neither revoked nor expired. */
  readonly usable: number
  /** Keys created in the last 24 hours, including those that were revoked since. */
  readonly newPerDay: number
}

export interface BudgetRef {
  id: string
  periodStartMs: number
}

export interface BudgetSpec extends BudgetRef {
  /** The limit of the budget if this period has no row yet. */
  initialLimit: number
}

/**
 * Credits are spent from leases. A process leases part of a budget and spends it in memory; the rest stays free for
 * other processes. A lease expires by itself when its holder dies.
 */
export interface CreditLeaseRequest extends BudgetSpec {
  /** Credits that the holder may still spend while the request is in flight. */
  keep: number
  /** Credits that a waiting charge needs now; 0 when no charge is waiting. */
  need: number
  release: boolean
}

export interface CreditLeaseGrant extends BudgetRef {
  limit: number
  used: number
  granted: number
  /** Credits that other live processes hold. */
  heldByOthers: number
  /** Whether another process is waiting for credits of this budget. */
  wantedByOthers: boolean
}

export interface SettleBatch {
  holder: string
  entries: readonly LedgerEntry[]
  counts: readonly UsageCount[]
  keysSeen: readonly { keyId: string; atMs: number }[]
  leases: readonly CreditLeaseRequest[]
}

export interface UsageQuery {
  accountId: string
  environment?: Environment
  fromMs: number
  toMs: number
  /** Returns only this many of the newest rows. */
  newest?: number
  /** Returns only rows before this one in the result order. */
  before?: UsagePlace
}

/** The sort key of usage rows. */
export interface UsagePlace {
  day: string
  environment: Environment
  endpoint: string
  keyId: string
}

export interface UsageRow extends UsagePlace {
  requests: number
  credits: number
  rows: number
  failed: number
  rateLimited: number
}

export interface BudgetState {
  limit: number
  used: number
}

export interface StoredReply {
  status: number
  headers: readonly (readonly [string, string])[]
  body: string
  /** Why the reply itself was not stored; the record then only shows that there was one. */
  omitted?: 'too_large' | 'quota'
}

/** Proves who holds a claim, so that a slow request cannot end the claim of a later request with the same key. */
export interface HeldClaim {
  readonly id: string
  /** Every claim gets a new number. */
  readonly claim: number
}

export type IdempotencyClaim =
  | { state: 'fresh'; claim: number }
  | { state: 'in_progress' }
  | { state: 'other_body' }
  | { state: 'done'; reply: StoredReply }
  /** The account already has the maximum number of entries. */
  | { state: 'full' }

export interface ChangeWatch {
  /** Called for accounts whose record or keys were changed by any process. */
  onAccounts: (accountIds: string[]) => void
  /** Called when another process is waiting for credits. */
  onWanted: () => void
}

/**
 * Administrative changes write the given entry of the audit log in the same transaction, if they change anything: a
 * change is neither unrecorded nor reported as failed because of its entry.
 */
export interface AccountsStore {
  createAccount(account: NewAccount, audit?: AuditEntry): Promise<AccountRecord>
  getAccount(id: string): Promise<AccountRecord | undefined>
  listAccounts(): Promise<AccountRecord[]>
  setPlan(
    id: string,
    plan: string,
    newLimits: readonly (BudgetRef & { limit: number })[],
    audit?: AuditEntry,
  ): Promise<boolean>
  setPaused(id: string, reason: PauseReason | null, audit?: AuditEntry): Promise<boolean>
  /** Sets the credits left in each budget's period. */
  setRemaining(
    accountId: string,
    budgets: readonly (BudgetRef & { remaining: number })[],
    audit?: AuditEntry,
  ): Promise<void>

  /** Throws ConflictError when the account is at a limit, even if several processes create keys at the same time. */
  createKey(key: NewKey, limits?: KeyLimits, audit?: AuditEntry): Promise<KeyRecord>
  findKey(hash: string): Promise<{ key: KeyRecord; account: AccountRecord } | undefined>
  getKey(id: string): Promise<KeyRecord | undefined>
  /** The key that the rotations of this one have led to, or the key itself if it was never rotated. */
  newestKeyOf(id: string): Promise<KeyRecord | undefined>
  listKeys(accountId?: string): Promise<KeyRecord[]>
  revokeKey(id: string, atMs: number, audit?: AuditEntry): Promise<boolean>
  /**
   * Creates a key that replaces the old one, and sets when the old one expires. Whatever belongs to the old key now
   * belongs to the new one. Returns undefined, and creates nothing, when the old key does not exist or is already
   * revoked or replaced.
   */
  rotateKey(
    id: string,
    by: { key: NewKey; limits?: KeyLimits; oldExpiresAtMs: number },
    audit?: AuditEntry,
  ): Promise<KeyRecord | undefined>

  settle(batch: SettleBatch): Promise<CreditLeaseGrant[]>
  budget(ref: BudgetRef): Promise<BudgetState | undefined>
  usage(query: UsageQuery): Promise<UsageRow[]>
  /** Deletes single charges older than this; the daily usage stays. */
  pruneLedger(maxAgeMs: number): Promise<number>

  claimIdempotency(claim: {
    id: string
    accountId: string
    /** The account's limit, this entry included. */
    maxEntries: number
    bodyHash: string
    /** How long the claim holds if nobody finishes it. */
    claimMs: number
    /** How long the idempotency key is remembered. */
    rememberedMs: number
  }): Promise<IdempotencyClaim>
  /**
   * Stores the reply, or only the fact that there was one if the account's replies would exceed the limit. Does nothing
   * when the claim has expired and another request holds it.
   */
  finishIdempotency(held: HeldClaim, reply: StoredReply, maxBytesOfAccount: number): Promise<void>
  /** Lets the claim hold for this long from now. Does nothing when it has expired and another request holds it. */
  extendIdempotency(held: HeldClaim, claimMs: number): Promise<void>
  releaseIdempotency(held: HeldClaim): Promise<void>

  /** The worth, in credits, of what the account viewed in the dashboard on a day (`2026-03-14`). */
  viewsOf(accountId: string, day: string): Promise<number>
  /** Adds to the day's total unless that would exceed the limit. */
  takeView(view: {
    accountId: string
    day: string
    credits: number
    limit: number
  }): Promise<{ taken: boolean; used: number }>

  /** Reports changes from the moment the promise resolves; the returned function stops it. */
  watch(watch: ChangeWatch): Promise<() => void>
  /** Throws when the store cannot be read, or reports that it cannot be written. */
  probe(): Promise<void>
  close(): Promise<void>
}

/** A name that must be unique is already taken. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError'
}
