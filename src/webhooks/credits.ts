import type { Payer } from '../accounts/charge.ts'
import { accountBudgetId } from '../accounts/key-ring.ts'
import type { Ledger } from '../accounts/ledger.ts'
import type { PlanBook } from '../accounts/plans.ts'
import type { Environment } from '../core/environment.ts'
import { type Plan, reaches } from '../core/plan.ts'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import type { Clock } from '../kit/clock.ts'
import type { AccountsStore, KeyRecord } from '../store/accounts.ts'
import type { JobsStore, SubscriptionPlace, SubscriptionRecord } from '../store/jobs.ts'

/**
 * A delivery costs one credit per event, and only on success. Credits are reserved before an attempt, so that
 * concurrent attempts never spend the same credit twice. Afterwards they are either released or charged under the
 * delivery's id; the ledger takes each id once, no matter how often an attempt is repeated.
 */
export interface Credits {
  reserve(subscription: Owner, count: number): Promise<Reservation | Pause>
  /** Why webhooks of this key must end; undefined while they may continue. May be outdated by a second. */
  endOf(owner: Owner): Promise<EndReason | undefined>
  /** The same as the store has it now. */
  currentEndOf(keyId: string): Promise<EndReason | undefined>
  /** How many more deliveries the credits cover. */
  available(owner: Owner): Promise<number>
  /** Why nothing is delivered for now. Every process gives the same reason. */
  pauseOf(owner: Owner): Promise<DeliveryPauseReason | undefined>
  /** Accounts were changed; drops everything cached about them. */
  forget(accountIds: readonly string[]): void
}

/**
 * If the webhook's own members are given, the limits of the plan are checked too, because the webhook may have been
 * created under a larger plan.
 */
type Owner = Pick<SubscriptionRecord, 'accountId' | 'keyId'> &
  Partial<Pick<SubscriptionRecord, 'id' | 'createdAtMs' | 'addresses'>>

interface Reservation {
  readonly ok: true
  /** As many as requested, or as many as the remaining credits cover. */
  readonly count: number
  charge(deliveryIds: readonly string[]): Promise<void>
  release(): void
}

/** Why nothing is delivered: for now (events stay pending), or permanently. */
interface Pause {
  readonly ok: false
  readonly reason: DeliveryPauseReason | EndReason
}
export const DELIVERY_PAUSE_REASONS = [
  'credits_exhausted',
  'account_paused',
  'plan',
  'account_missing',
] as const
export type DeliveryPauseReason = (typeof DELIVERY_PAUSE_REASONS)[number]
export type EndReason = NonNullable<ReturnType<typeof keyEnd>>

/** What a delivered event costs. */
export const CREDITS_PER_EVENT = 1
export const CHARGE_NAME = 'webhook delivery'
const PAYER_FRESH_MS = 1_000
/** How soon a webhook resumes after older ones were deleted or disabled. A change of the plan is noticed at once. */
const PLACE_FRESH_MS = 30_000
/** After this many attempts disturbed by account changes, the payer is read without being cached. */
const READ_TRIES = 3

interface KnownPayer {
  readonly payer: Payer
  readonly plan: Plan
  readonly pause: DeliveryPauseReason | undefined
  readonly key: KeyRecord | undefined
  /** The oldest active webhook of the account that exceeds the plan's limit. */
  readonly firstBeyond: SubscriptionPlace | undefined
  readonly readAtMs: number
}

interface KnownPlace {
  readonly place: SubscriptionPlace | undefined
  /** How many webhooks the plan allows. */
  readonly most: number
  readonly readAtMs: number
}

export function createCredits(deps: {
  ledger: Ledger
  accounts: Pick<AccountsStore, 'getAccount' | 'newestKeyOf'>
  plans: PlanBook
  /** If omitted, the number of webhooks is not checked. */
  webhooks?: Pick<JobsStore, 'subscriptionPlaces'>
  environment: Environment
  clock: Clock
}): Credits {
  const { ledger, accounts, plans, environment, clock } = deps
  const known = new Map<string, KnownPayer>()
  const places = new Map<string, KnownPlace>()
  const reserved = new Map<string, number>()
  /** Counts the calls of `forget`. */
  let forgotten = 0

  async function firstBeyond(accountId: string, most: number): Promise<SubscriptionPlace | undefined> {
    const found = places.get(accountId)
    const nowMs = clock.now()
    if (found?.most === most && nowMs - found.readAtMs < PLACE_FRESH_MS) return found.place
    const all = await deps.webhooks?.subscriptionPlaces({ accountId, limit: most + 1, activeOnly: true })
    const place = all?.[most]
    places.set(accountId, { place, most, readAtMs: nowMs })
    return place
  }

  async function readPayer({ accountId, keyId }: Owner): Promise<KnownPayer | undefined> {
    const before = forgotten
    const account = await accounts.getAccount(accountId)
    if (account === undefined) return undefined
    const plan = plans.get(account.plan)
    // Undefined for a webhook created in the dashboard.
    const key = await accounts.newestKeyOf(keyId)
    const { billingDay } = account
    // What was read before a change must not replace the limits from after it.
    const isCurrent = forgotten === before
    const open = (id: string, initialLimit: number) =>
      ledger.open({ id, accountId, initialLimit, billingDay }, { isCurrent })
    const budgets = [open(accountBudgetId(accountId, environment), plan.creditsPerMonth)]
    if (key !== undefined && key.creditCap !== null) budgets.push(open(key.capBudgetId, key.creditCap))
    const pause = account.pausedReason !== null ? 'account_paused' : reaches(plan, 'pro') ? undefined : 'plan'
    const payer = { accountId, environment, keyId: key?.id ?? keyId, budgets }
    const beyond = await firstBeyond(accountId, plan.webhookSubscriptions)
    return { payer, plan, pause, key, firstBeyond: beyond, readAtMs: clock.now() }
  }

  async function payerOf(owner: Owner): Promise<KnownPayer | undefined> {
    const name = `${owner.accountId} ${owner.keyId}`
    const found = known.get(name)
    if (found !== undefined && clock.now() - found.readAtMs < PAYER_FRESH_MS) return found
    for (let attempt = 0; attempt < READ_TRIES; attempt++) {
      const before = forgotten
      const fresh = await readPayer(owner)
      // An account may have changed during the read.
      if (forgotten !== before) continue
      if (fresh === undefined) known.delete(name)
      else known.set(name, fresh)
      return fresh
    }
    return readPayer(owner)
  }

  const setAside = (accountId: string, count: number) => {
    const left = (reserved.get(accountId) ?? 0) + count
    if (left > 0) reserved.set(accountId, left)
    else reserved.delete(accountId)
  }

  async function refresh({ budgets }: Payer): Promise<void> {
    const nowMs = clock.now()
    if (!ledger.isFresh(budgets, nowMs)) await ledger.refresh(budgets, nowMs)
  }

  /** Valid only until the next await, because others reserve credits too. */
  function freeOf({ accountId, budgets }: Payer): number {
    const remaining = Math.min(...budgets.map((budget) => budget.remaining))
    return remaining - (reserved.get(accountId) ?? 0)
  }

  async function availableTo(payer: Payer): Promise<number> {
    await refresh(payer)
    return Math.max(0, Math.floor(freeOf(payer) / CREDITS_PER_EVENT))
  }

  return {
    async endOf(owner) {
      return keyEnd((await payerOf(owner))?.key, clock.now())
    },
    async currentEndOf(keyId) {
      return keyEnd(await accounts.newestKeyOf(keyId), clock.now())
    },
    async available(owner) {
      const found = await payerOf(owner)
      return found === undefined ? 0 : availableTo(found.payer)
    },
    async pauseOf(owner) {
      const found = await payerOf(owner)
      if (found === undefined) return 'account_missing'
      const pause = pauseFor(found, owner)
      if (pause !== undefined) return pause
      return (await availableTo(found.payer)) < 1 ? 'credits_exhausted' : undefined
    },
    forget(accountIds) {
      forgotten += 1
      for (const [name, { payer }] of known) if (accountIds.includes(payer.accountId)) known.delete(name)
      for (const accountId of accountIds) places.delete(accountId)
    },
    async reserve(owner, count) {
      const found = await payerOf(owner)
      if (found === undefined) return { ok: false, reason: 'account_missing' }
      const end = keyEnd(found.key, clock.now())
      if (end !== undefined) return { ok: false, reason: end }
      const pause = pauseFor(found, owner)
      if (pause !== undefined) return { ok: false, reason: pause }
      const { payer } = found
      await refresh(payer)
      const granted = Math.min(count, freeOf(payer))
      if (granted < 1) return { ok: false, reason: 'credits_exhausted' }
      setAside(owner.accountId, granted)
      let open = true
      const release = () => {
        if (open) setAside(owner.accountId, -granted)
        open = false
      }
      return {
        ok: true,
        count: granted,
        release,
        async charge(deliveryIds) {
          let isStoreAway = false
          try {
            for (const id of deliveryIds) {
              const charge = {
                ...{ id, endpoint: CHARGE_NAME, credits: CREDITS_PER_EVENT, rows: 1 },
                mayRepeat: true,
              }
              // Each charge would wait for seconds, and the claims of the jobs would expire before their outcome is
              // recorded.
              const paid = !isStoreAway && ledger.charge(payer, charge)
              if (paid === true) continue
              const isPaid = await Promise.resolve(paid).catch((error) => {
                if (!(error instanceof StoreUnavailableError)) throw error
                isStoreAway = true
                return false
              })
              // The event was delivered, which cannot be undone, so the credit is owed even if others have spent the
              // rest meanwhile.
              if (!isPaid) ledger.owe(payer, charge)
            }
          } finally {
            release()
          }
        },
      }
    },
  }
}

/**
 * The oldest active webhooks continue, as many as the plan allows. One with more addresses than the plan allows does
 * not.
 */
function pauseFor(
  { pause, plan, firstBeyond }: KnownPayer,
  { id, createdAtMs, addresses = [] }: Owner,
): DeliveryPauseReason | undefined {
  if (pause !== undefined) return pause
  if (addresses.length > plan.webhookAddresses) return 'plan'
  if (firstBeyond === undefined || id === undefined || createdAtMs === undefined) return undefined
  const isOlder =
    createdAtMs < firstBeyond.createdAtMs || (createdAtMs === firstBeyond.createdAtMs && id < firstBeyond.id)
  return isOlder ? undefined : 'plan'
}

/** Why a webhook ends with its key; undefined while the key is valid. */
function keyEnd(key: KeyRecord | undefined, nowMs: number): 'key_revoked' | 'key_expired' | undefined {
  if (key === undefined) return undefined
  if (key.revokedAtMs !== null) return 'key_revoked'
  return key.expiresAtMs !== null && key.expiresAtMs <= nowMs ? 'key_expired' : undefined
}
