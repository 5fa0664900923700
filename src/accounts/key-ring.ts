import { hash } from 'node:crypto'
import type { Environment } from '../core/environment.ts'
import { readKey } from '../core/key-format.ts'
import type { Plan } from '../core/plan.ts'
import { addressMatcher, parseCidr } from '../kit/ip-range.ts'
import { Lru } from '../kit/lru.ts'
import type { AccountRecord, AccountsStore, KeyRecord } from '../store/accounts.ts'
import type { Budget } from './budget.ts'
import type { Ledger } from './ledger.ts'
import type { PlanBook } from './plans.ts'
import { RateWindow } from './rate-window.ts'
import type { RateSharing } from './share-rates.ts'

/** A key with everything that a request needs. */
export interface Credential {
  readonly accountId: string
  readonly keyId: string
  readonly environment: Environment
  readonly key: KeyRecord
  readonly account: AccountRecord
  readonly plan: Plan
  readonly budgets: readonly Budget[]
  readonly rate: RateWindow
  readonly allowsAddress: (address: string) => boolean
}

export type KeyVerdict =
  | { ok: true; credential: Credential }
  | { ok: false; reason: 'malformed' | 'unknown'; message: string }

const CACHED_KEYS = 20_000
/** Stands for a key's id when the dashboard acts for an account. */
export const VIEWER_KEY = 'dashboard'

export function hashKey(text: string): string {
  return hash('sha256', text, 'hex')
}

/** Finds keys, first in memory. When any process changes an account, its keys are dropped here within a moment. */
export class KeyRing {
  readonly #store: AccountsStore
  readonly #plans: PlanBook
  readonly #ledger: Ledger
  readonly #sharing: RateSharing | undefined
  readonly #known = new Lru<string, Credential>({ maxEntries: CACHED_KEYS })
  readonly #textsOf = new Map<string, Set<string>>()
  readonly #rates = new Map<string, RateWindow>()
  /** How many times keys were dropped; a read that overlaps a drop may be outdated. */
  #drops = 0

  /** @param deps.sharing given if several processes serve the same accounts */
  constructor(deps: {
    store: AccountsStore
    plans: PlanBook
    ledger: Ledger
    sharing?: RateSharing | undefined
  }) {
    this.#store = deps.store
    this.#plans = deps.plans
    this.#ledger = deps.ledger
    this.#sharing = deps.sharing
  }

  /** The key if it is already in memory: the fast path of every request but the first. */
  known(text: string): Credential | undefined {
    return this.#known.get(text)
  }

  async find(text: string): Promise<KeyVerdict> {
    const form = readKey(text)
    if (!form.ok) {
      return { ok: false, reason: 'malformed', message: `The API key is malformed: ${form.problem}.` }
    }
    const drops = this.#drops
    const found = await this.#store.findKey(hashKey(text))
    if (found === undefined) return { ok: false, reason: 'unknown', message: 'The API key is not known.' }
    const credential = this.#build(found.key, found.account)
    // The store may have read the key before the change and answered after the notification about it.
    if (drops !== this.#drops) return { ok: true, credential }
    this.#known.set(text, credential)
    const texts = this.#textsOf.get(credential.accountId) ?? new Set()
    texts.add(text)
    this.#textsOf.set(credential.accountId, texts)
    return { ok: true, credential }
  }

  /**
   * For an account holder in the dashboard: the plan's rules apply, but there is no key, and the rate is counted
   * separately from that of the keys.
   */
  async viewer(accountId: string, environment: Environment): Promise<Credential | undefined> {
    const account = await this.#store.getAccount(accountId)
    if (account === undefined) return undefined
    const key: KeyRecord = {
      id: VIEWER_KEY,
      accountId,
      environment,
      name: 'dashboard',
      hint: '',
      scopes: null,
      allowedCidrs: null,
      creditCap: null,
      capBudgetId: VIEWER_KEY,
      createdAtMs: account.createdAtMs,
      lastUsedAtMs: null,
      expiresAtMs: null,
      revokedAtMs: null,
      replacedBy: null,
    }
    const credential = this.#build(key, account)
    return { ...credential, rate: this.#rate(`${accountId}/${VIEWER_KEY}`, environment, credential.plan) }
  }

  forget(accountIds: readonly string[]): void {
    this.#drops++
    for (const accountId of accountIds) {
      for (const text of this.#textsOf.get(accountId) ?? []) this.#known.delete(text)
      this.#textsOf.delete(accountId)
    }
  }

  #build(key: KeyRecord, account: AccountRecord): Credential {
    const plan = this.#plans.get(account.plan)
    const { billingDay, id: accountId } = account
    const budgets = [
      this.#ledger.open({
        id: accountBudgetId(accountId, key.environment),
        accountId,
        initialLimit: plan.creditsPerMonth,
        billingDay,
      }),
    ]
    if (key.creditCap !== null) {
      const { capBudgetId: id, creditCap: initialLimit } = key
      budgets.push(this.#ledger.open({ id, accountId, initialLimit, billingDay }))
    }
    const ranges = key.allowedCidrs?.flatMap((text) => parseCidr(text) ?? [])
    return {
      accountId,
      keyId: key.id,
      environment: key.environment,
      key,
      account,
      plan,
      budgets,
      rate: this.#rate(accountId, key.environment, plan),
      allowsAddress: ranges === undefined ? () => true : addressMatcher(ranges),
    }
  }

  /** The rate is counted per account and environment, over all its keys. */
  #rate(owner: string, environment: Environment, plan: Plan): RateWindow {
    const name = `${owner}/${environment}`
    const known = this.#rates.get(name)
    const limits = { perSecond: plan.requestsPerSecond, perMinute: plan.requestsPerMinute }
    if (known?.perSecond === limits.perSecond && known.perMinute === limits.perMinute) return known
    const rate = new RateWindow(limits, this.#sharing?.(name, limits))
    this.#rates.set(name, rate)
    return rate
  }
}

export function accountBudgetId(accountId: string, environment: Environment): string {
  return `${accountId}/${environment}`
}
