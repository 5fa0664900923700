import { billingPeriod } from '../core/billing-period.ts'
import { ENVIRONMENTS, type Environment } from '../core/environment.ts'
import { formatKey } from '../core/key-format.ts'
import { SCOPES } from '../core/scope.ts'
import type { Clock } from '../kit/clock.ts'
import { parseCidr } from '../kit/ip-range.ts'
import type { RandomBytes } from '../kit/random.ts'
import {
  type AccountRecord,
  type AccountsStore,
  ConflictError,
  type KeyLimits,
  type KeyRecord,
  type NewAccount,
  type PauseReason,
  type UsageQuery,
  type UsageRow,
} from '../store/accounts.ts'
import type { AuditEntry } from '../store/audit-entry.ts'
import type { BillingStore } from '../store/billing.ts'
import { accountBudgetId, hashKey } from './key-ring.ts'
import { isOverdue } from './overdue.ts'
import type { PlanBook } from './plans.ts'

export type { AccountRecord, KeyRecord, UsageRow } from '../store/accounts.ts'

/** Small enough that, added to the credits used before, it is still an integer that every engine stores exactly. */
export const MAX_CREDITS = 1_000_000_000_000_000

/** What an operator or an account holder does; the command line and the dashboard call the same functions. */
export interface Accounts {
  /** The same accounts, with every change written to the audit log under this name. */
  as(actor: string): Accounts
  create(input: NewAccountInput): Promise<AccountRecord>
  /** What `create` would store, for callers that store it together with something else. */
  prepare(input: NewAccountInput): NewAccount
  get(accountId: string): Promise<AccountRecord>
  list(): Promise<AccountRecord[]>
  setPlan(accountId: string, plan: string): Promise<AccountRecord>
  pause(accountId: string, reason: PauseReason): Promise<AccountRecord>
  /**
   * Ends the pause. If the operator paused the account and its payment is past due, it stays paused for that reason.
   */
  resume(accountId: string): Promise<AccountRecord>
  setCredits(accountId: string, remaining: number, environments?: readonly Environment[]): Promise<void>
  balance(account: AccountRecord, environment: Environment): Promise<Balance>

  createKey(input: NewKeyInput): Promise<{ key: string; record: KeyRecord }>
  listKeys(accountId?: string): Promise<KeyRecord[]>
  getKey(keyId: string): Promise<KeyRecord>
  revokeKey(keyId: string): Promise<KeyRecord>
  /**
   * Creates a new key with the old one's settings. The old one keeps working for the overlap and cannot be rotated
   * again.
   */
  rotateKey(
    keyId: string,
    overlapMs: number,
  ): Promise<{ key: string; record: KeyRecord; oldExpiresAtMs: number }>

  /** @param page `newest` limits the result to that many of the newest rows */
  usage(
    accountId: string,
    fromMs: number,
    toMs: number,
    page?: Pick<UsageQuery, 'newest' | 'before'>,
  ): Promise<UsageRow[]>
}

interface NewAccountInput {
  email: string
  plan: string
  billingDay?: number
}

export interface NewKeyInput {
  accountId: string
  environment: Environment
  name: string
  scopes?: string[] | null
  allowedCidrs?: string[] | null
  creditCap?: number | null
  expiresAtMs?: number | null
}

export interface Balance {
  used: number
  limit: number
  remaining: number
  resetsAtMs: number
}

/** A request that cannot be carried out; the message is for the caller. */
export class AccountsError extends Error {
  override readonly name = 'AccountsError'
}

const EMAIL = /^[^\s@]+@[^\s@]+$/
const MAX_NAME = 100
const KEY_LIMITS: KeyLimits = { usable: 100, newPerDay: 200 }

export function createAccounts(deps: {
  store: AccountsStore & Pick<BillingStore, 'listBilling'>
  plans: PlanBook
  clock: Clock
  randomBytes: RandomBytes
  /** If omitted, changes are not written to the audit log. */
  actor?: string
}): Accounts {
  const { store, plans, clock, randomBytes, actor } = deps
  const entry = (action: string, accountId: string, detail: string): AuditEntry | undefined =>
    actor === undefined ? undefined : { atMs: clock.now(), actor, action, accountId, detail }

  const mustFind = async (accountId: string) => {
    const account = await store.getAccount(accountId)
    if (account === undefined) throw new AccountsError(`There is no account ${accountId}.`)
    return account
  }
  const mustFindKey = async (keyId: string) => {
    const key = await store.getKey(keyId)
    if (key === undefined) throw new AccountsError(`There is no key ${keyId}.`)
    return key
  }
  const mustPlan = (name: string) => {
    const plan = plans.find(name)
    if (plan !== undefined) return plan
    const names = plans.list().map((p) => p.name)
    throw new AccountsError(`There is no plan "${name}". Plans: ${names.join(', ')}.`)
  }
  const setPaused = async (accountId: string, reason: PauseReason | null, audit: AuditEntry | undefined) => {
    await mustFind(accountId)
    await store.setPaused(accountId, reason, audit)
    return mustFind(accountId)
  }
  const period = (account: AccountRecord) => billingPeriod(clock.now(), account.billingDay)

  const newKey = async (input: NewKeyInput) => {
    await mustFind(input.accountId)
    checkKeyInput(input, clock.now())
    const key = formatKey(input.environment, randomBytes)
    const made = {
      id: newId('key', randomBytes),
      accountId: input.accountId,
      environment: input.environment,
      name: input.name,
      hash: hashKey(key),
      hint: key.slice(-4),
      scopes: input.scopes == null ? null : [...new Set(input.scopes)],
      allowedCidrs: input.allowedCidrs ?? null,
      creditCap: input.creditCap ?? null,
      createdAtMs: clock.now(),
      expiresAtMs: input.expiresAtMs ?? null,
    }
    return { key, made }
  }
  const orRefused = <R>(making: Promise<R>): Promise<R> =>
    making.catch((error) => {
      throw error instanceof ConflictError ? new AccountsError(error.message) : error
    })

  const prepare = ({ email, plan, billingDay }: NewAccountInput): NewAccount => {
    if (!EMAIL.test(email)) throw new AccountsError(`"${email}" is not an e-mail address.`)
    const createdAtMs = clock.now()
    return {
      id: newId('acc', randomBytes),
      email,
      plan: mustPlan(plan).name,
      billingDay: billingDay ?? new Date(createdAtMs).getUTCDate(),
      createdAtMs,
    }
  }

  return {
    as: (name) => createAccounts({ ...deps, actor: name }),
    async create(input) {
      const account = prepare(input)
      const audit = entry('account.created', account.id, `${account.email}, plan ${account.plan}`)
      return store.createAccount(account, audit)
    },
    prepare,
    get: mustFind,
    list: () => store.listAccounts(),
    async setPlan(accountId, planName) {
      const account = await mustFind(accountId)
      const plan = mustPlan(planName)
      const limits = ENVIRONMENTS.map((environment) => ({
        id: accountBudgetId(accountId, environment),
        periodStartMs: period(account).startMs,
        limit: plan.creditsPerMonth,
      }))
      const audit = entry('account.plan', accountId, `${account.plan} → ${plan.name}`)
      await store.setPlan(accountId, plan.name, limits, audit)
      return mustFind(accountId)
    },
    pause(accountId, reason) {
      const why = reason === 'operator' ? 'by the operator' : 'payment past due'
      return setPaused(accountId, reason, entry('account.paused', accountId, why))
    },
    async resume(accountId) {
      const { pausedReason } = await mustFind(accountId)
      const isStillOwed = pausedReason === 'operator' && (await isOverdue(store, accountId))
      const still = isStillOwed ? 'still paused: payment past due' : ''
      const audit = entry('account.resumed', accountId, still)
      return setPaused(accountId, isStillOwed ? 'payment_past_due' : null, audit)
    },
    async setCredits(accountId, remaining, environments) {
      const account = await mustFind(accountId)
      if (!Number.isSafeInteger(remaining) || remaining < 0 || remaining > MAX_CREDITS) {
        throw new AccountsError(`Credits must be a whole number from 0 to ${MAX_CREDITS}.`)
      }
      const periodStartMs = period(account).startMs
      await store.setRemaining(
        accountId,
        (environments ?? ENVIRONMENTS).map((environment) => ({
          id: accountBudgetId(accountId, environment),
          periodStartMs,
          remaining,
        })),
        entry('account.credits', accountId, `${remaining} left in ${environments?.join(', ') ?? 'both'}`),
      )
    },
    async balance(account, environment) {
      const { startMs, endMs } = period(account)
      const id = accountBudgetId(account.id, environment)
      const state = await store.budget({ id, periodStartMs: startMs })
      const limit = state?.limit ?? mustPlan(account.plan).creditsPerMonth
      const used = state?.used ?? 0
      return { used, limit, remaining: Math.max(0, limit - used), resetsAtMs: endMs }
    },
    async createKey(input) {
      const { key, made } = await newKey(input)
      const audit = entry('key.created', made.accountId, inWords(made))
      return { key, record: await orRefused(store.createKey(made, KEY_LIMITS, audit)) }
    },
    listKeys: (accountId) => store.listKeys(accountId),
    getKey: mustFindKey,
    async revokeKey(keyId) {
      const found = await mustFindKey(keyId)
      await store.revokeKey(keyId, clock.now(), entry('key.revoked', found.accountId, inWords(found)))
      return mustFindKey(keyId)
    },
    async rotateKey(keyId, overlapMs) {
      const old = await mustFindKey(keyId)
      checkRotatable(old)
      const { accountId, environment, name, scopes, allowedCidrs, creditCap, expiresAtMs } = old
      const { key, made } = await newKey({
        accountId,
        environment,
        name,
        scopes,
        allowedCidrs,
        creditCap,
        expiresAtMs,
      })
      const oldExpiresAtMs = Math.min(
        clock.now() + Math.round(overlapMs),
        expiresAtMs ?? Number.POSITIVE_INFINITY,
      )
      const record = await orRefused(
        store.rotateKey(
          keyId,
          { key: made, limits: KEY_LIMITS, oldExpiresAtMs },
          entry('key.rotated', accountId, `${keyId} → ${made.id}`),
        ),
      )
      if (record === undefined) {
        // The key was revoked or rotated after it was read.
        checkRotatable(await mustFindKey(keyId))
        throw new AccountsError(`Key ${keyId} cannot be rotated.`)
      }
      return { key, record, oldExpiresAtMs }
    },
    usage: (accountId, fromMs, toMs, page) => store.usage({ accountId, fromMs, toMs, ...page }),
  }
}

function checkKeyInput(input: NewKeyInput, nowMs: number): void {
  if (input.name.trim() === '' || input.name.length > MAX_NAME) {
    throw new AccountsError(`The key's name must have 1 to ${MAX_NAME} characters.`)
  }
  for (const scope of input.scopes ?? []) {
    if (!(SCOPES as readonly string[]).includes(scope)) {
      throw new AccountsError(`"${scope}" is not a scope. Scopes: ${SCOPES.join(', ')}.`)
    }
  }
  if (input.scopes?.length === 0) throw new AccountsError('A key without any scope would be of no use.')
  if (input.allowedCidrs?.length === 0)
    throw new AccountsError('A key without any address range could be used from nowhere.')
  for (const cidr of input.allowedCidrs ?? []) {
    if (parseCidr(cidr) === undefined) {
      throw new AccountsError(`"${cidr}" is not an address range such as 10.0.0.0/8 or 2001:db8::/32.`)
    }
  }
  const cap = input.creditCap ?? 0
  if (!Number.isSafeInteger(cap) || cap < 0) throw new AccountsError('The credit cap must be a whole number.')
  if (input.expiresAtMs != null && input.expiresAtMs <= nowMs) {
    throw new AccountsError('The expiry lies in the past.')
  }
}

/** A key that was already rotated expires after its overlap, and another successor would expire with it. */
function checkRotatable({ id, revokedAtMs, replacedBy }: KeyRecord): void {
  if (revokedAtMs !== null) throw new AccountsError(`Key ${id} is revoked.`)
  if (replacedBy !== null)
    throw new AccountsError(`Key ${id} was rotated already: ${replacedBy} replaced it. Rotate that one.`)
}

function inWords({ id, environment, name }: Pick<KeyRecord, 'id' | 'environment' | 'name'>): string {
  return `${id} (${environment}, ${name})`
}

function newId(prefix: string, randomBytes: RandomBytes): string {
  return `${prefix}_${BigInt(`0x${randomBytes(10).toString('hex')}`)
    .toString(36)
    .padStart(16, '0')}`
}
