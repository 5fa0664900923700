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
/** If accounts change during each of this many reads, the last one is used once: it is not kept and changes no limit. */
const READ_TRIES = 3
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
  /** How many times keys were dropped. */
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
    const { found, isCurrent } = await this.#read(() => this.#store.findKey(hashKey(text)))
    if (found === undefined) return { ok: false, reason: 'unknown', message: 'The API key is not known.' }
    const credential = this.#build(found.key, found.account, isCurrent)
    if (!isCurrent) return { ok: true, credential }
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
    const { found: account, isCurrent } = await this.#read(() => this.#store.getAccount(accountId))
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
    const credential = this.#build(key, account, isCurrent)
    const limits = { plan: credential.plan, isCurrent }
    return { ...credential, rate: this.#rate(`${accountId}/${VIEWER_KEY}`, environment, limits) }
  }

  forget(accountIds: readonly string[]): void {
    this.#drops++
    for (const accountId of accountIds) {
      for (const text of this.#textsOf.get(accountId) ?? []) this.#known.delete(text)
      this.#textsOf.delete(accountId)
    }
  }

  /** The store may read a record before a change and answer after the notification about it; it is then read again. */
  async #read<T>(read: () => Promise<T>): Promise<{ found: T; isCurrent: boolean }> {
    for (let tries = 1; ; tries++) {
      const drops = this.#drops
      const found = await read()
      const isCurrent = drops === this.#drops
      if (isCurrent || tries === READ_TRIES) return { found, isCurrent }
    }
  }

  /** @param isCurrent whether the limits of the account and its keys become those of these records */
  #build(key: KeyRecord, account: AccountRecord, isCurrent: boolean): Credential {
    const plan = this.#plans.get(account.plan)
    const { billingDay, id: accountId } = account
    const open = (id: string, initialLimit: number) =>
      this.#ledger.open({ id, accountId, initialLimit, billingDay }, { isCurrent })
    const budgets = [open(accountBudgetId(accountId, key.environment), plan.creditsPerMonth)]
    if (key.creditCap !== null) budgets.push(open(key.capBudgetId, key.creditCap))
    const ranges = key.allowedCidrs?.flatMap((text) => parseCidr(text) ?? [])
    return {
      accountId,
      keyId: key.id,
      environment: key.environment,
      key,
      account,
      plan,
      budgets,
      rate: this.#rate(accountId, key.environment, { plan, isCurrent }),
      allowsAddress: ranges === undefined ? () => true : addressMatcher(ranges),
    }
  }

  /** The rate is counted per account and environment, over all its keys. */
  #rate(
    owner: string,
    environment: Environment,
    { plan, isCurrent }: { plan: Plan; isCurrent: boolean },
  ): RateWindow {
    const name = `${owner}/${environment}`
    const known = this.#rates.get(name)
    if (known !== undefined && !isCurrent) return known
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
