import type { Environment } from '../core/environment.ts'

/**
 * The storage port for accounts, keys, credits and usage. It is asynchronous, so that an engine across the
 * network fits; nothing outside `store/` knows which engine runs.
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
  /** The last four characters, to distinguish keys in a list. The key itself is not stored. */
  hint: string
  /** null: all scopes. */
  scopes: string[] | null
  /** null: any address. */
  allowedCidrs: string[] | null
  creditCap: number | null
  /** The budget that counts towards the cap: all keys of a chain of rotations share that of the first one. */
  capBudgetId: string
  createdAtMs: number
  lastUsedAtMs: number | null
  expiresAtMs: number | null
  revokedAtMs: number | null
  /** The key that a rotation put in its place. */
  replacedBy: string | null
}

export type NewAccount = Pick<AccountRecord, 'id' | 'email' | 'plan' | 'billingDay' | 'createdAtMs'>
export type NewKey = Omit<KeyRecord, 'lastUsedAtMs' | 'revokedAtMs' | 'replacedBy' | 'capBudgetId'> & {
  hash: string
}

/** Charges of one key for one endpoint that are written together. Its id is unique: writing it again changes nothing. */
export interface LedgerEntry {
  id: string
  /** When the first of them was made: all are of one day, and of the same periods of their budgets. */
  atMs: number
  accountId: string
  environment: Environment
  keyId: string
  endpoint: string
  /** In all. */
  credits: number
  rows: number
  /** At least one: what each request or delivery cost. */
  charges: readonly { readonly id: string; readonly credits: number }[]
  /** Every budget that pays for it: the account's, and the key's own where it is capped. */
  budgets: readonly BudgetSpec[]
}

/** Requests that moved no credits: free answers, refusals, rate limits. */
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
  /** Neither revoked nor expired. */
  readonly usable: number
  /** Made in the last 24 hours, whatever became of them. */
  readonly newPerDay: number
}

export interface BudgetRef {
  id: string
  periodStartMs: number
}

export interface BudgetSpec extends BudgetRef {
  /** The budget's size when this period's row does not exist yet. */
  initialLimit: number
}

/**
 * Credits are spent from leases. A process holds part of a budget and spends it in memory; the rest is free
 * for other processes. A lease ends by itself when its holder dies.
 */
export interface CreditLeaseRequest extends BudgetSpec {
  /** Credits that the holder continues to spend while the request is in flight. */
  keep: number
  /** Credits that a waiting charge needs at once; 0 when none waits. */
  need: number
  release: boolean
}

export interface CreditLeaseGrant extends BudgetRef {
  limit: number
  used: number
  granted: number
  /** Credits that other live processes hold. */
  heldByOthers: number
  /** Another process waits for credits of this budget. */
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
  /** Only that many of the newest. */
  newest?: number
  /** Only what comes before this row, in the order of the answer. */
  before?: UsagePlace
}

/** The rows are in the order of these. */
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
  /** Why the reply itself is not stored; then only that there was one is known. */
  omitted?: 'too_large' | 'quota'
}

/** Only who holds the claim ends it: a slow request must not end that of the next one with the same key. */
export interface HeldClaim {
  readonly id: string
  /** Given once for each id. */
  readonly claim: number
}

export type IdempotencyClaim =
  | { state: 'fresh'; claim: number }
  | { state: 'in_progress' }
  | { state: 'other_body' }
  | { state: 'done'; reply: StoredReply }
  /** The account has as many entries as it may have. */
  | { state: 'full' }

export interface ChangeWatch {
  /** Accounts whose record or keys were changed, by whichever process. */
  onAccounts: (accountIds: string[]) => void
  /** Another process waits for credits. */
  onWanted: () => void
}

export interface AccountsStore {
  createAccount(account: NewAccount): Promise<AccountRecord>
  getAccount(id: string): Promise<AccountRecord | undefined>
  listAccounts(): Promise<AccountRecord[]>
  setPlan(id: string, plan: string, newLimits: readonly (BudgetRef & { limit: number })[]): Promise<boolean>
  setPaused(id: string, reason: PauseReason | null): Promise<boolean>
  /** Sets what is left of budgets in their period. */
  setRemaining(accountId: string, budgets: readonly (BudgetRef & { remaining: number })[]): Promise<void>

  /** ConflictError when the account has as many as the limits allow, whichever processes make them at once. */
  createKey(key: NewKey, limits?: KeyLimits): Promise<KeyRecord>
  findKey(hash: string): Promise<{ key: KeyRecord; account: AccountRecord } | undefined>
  getKey(id: string): Promise<KeyRecord | undefined>
  /** The key that the rotations of this one have led to; the key itself where it was not rotated. */
  newestKeyOf(id: string): Promise<KeyRecord | undefined>
  listKeys(accountId?: string): Promise<KeyRecord[]>
  revokeKey(id: string, atMs: number): Promise<boolean>
  /**
   * Makes a key and ends the old one at that time in favour of it: it takes over what the old one made. Undefined when
   * the old one is not there, revoked or replaced already: then none is made.
   */
  rotateKey(
    id: string,
    by: { key: NewKey; limits?: KeyLimits; oldExpiresAtMs: number },
  ): Promise<KeyRecord | undefined>

  settle(batch: SettleBatch): Promise<CreditLeaseGrant[]>
  budget(ref: BudgetRef): Promise<BudgetState | undefined>
  usage(query: UsageQuery): Promise<UsageRow[]>
  /** Deletes single charges that are older than that; the usage by day stays. */
  pruneLedger(maxAgeMs: number): Promise<number>

  claimIdempotency(claim: {
    id: string
    accountId: string
    /** Of the account, this one included. */
    maxEntries: number
    bodyHash: string
    /** How long the claim holds when nobody finishes it. */
    claimMs: number
    /** How long the key is remembered. */
    rememberedMs: number
  }): Promise<IdempotencyClaim>
  /**
   * Stores the reply, or only that there was one where the replies of the account would take up more than that. Nothing
   * where the claim has run out and another request has it.
   */
  finishIdempotency(held: HeldClaim, reply: StoredReply, maxBytesOfAccount: number): Promise<void>
  /** The claim holds that long from now on. Nothing where it has run out and another request has it. */
  extendIdempotency(held: HeldClaim, claimMs: number): Promise<void>
  releaseIdempotency(held: HeldClaim): Promise<void>

  /** Credits' worth that was viewed in the dashboard on a day (`2026-03-14`). */
  viewsOf(accountId: string, day: string): Promise<number>
  /** Adds to it unless that would be more than the limit. */
  takeView(view: {
    accountId: string
    day: string
    credits: number
    limit: number
  }): Promise<{ taken: boolean; used: number }>

  /** From when it resolves; the function ends it. */
  watch(watch: ChangeWatch): Promise<() => void>
  /** Throws when the store cannot be read, or says that it cannot be written. */
  probe(): Promise<void>
  close(): Promise<void>
}

/** A name that must be unique is taken. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError'
}
