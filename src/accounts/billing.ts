import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../kit/clock.ts'
import type { BillingLink, BillingStore } from '../store/billing.ts'
import type { Accounts } from './accounts.ts'
import { AccountsError } from './accounts.ts'
import { BusyError } from './hash-queue.ts'
import { OVERDUE } from './overdue.ts'

/**
 * Events of the payment provider, in Stripe's format, applied to accounts:
 *
 *   active, trialing            → the plan of the price; an account paused for payment goes on
 *   past_due, unpaid            → paused (payment past due)
 *   canceled, incomplete_expired, paused → the free plan; an account paused for payment goes on
 *   incomplete                  → nothing yet
 *
 * The account is named by `client_reference_id` of the checkout or `metadata.account_id` of the
 * subscription, and by the customer from then on. A pause by the operator is not the provider's to end; when the
 * operator ends it, an account whose payment is past due by then is paused for that (see overdue.ts).
 *
 * One customer pays for an account: while it does, another customer's checkout or subscription changes nothing
 * there, and it cannot be moved to another account. Of several subscriptions of the customer the one that was
 * active last decides; the end of another one is not the end of the plan.
 *
 * Events have whole seconds only. Of those of one second, the beginning of a subscription is older than any other
 * status of it, and its end is newer.
 *
 * The provider promises no order: a subscription of a customer whose checkout has not arrived yet is refused
 * and not noted, so that it is sent again. A customer whose checkout does not arrive within a day is not ours.
 */
export interface Billing {
  /** The provider's customer of an account, where one is known. */
  customers(): Promise<ReadonlyMap<string, string>>
  /**
   * Rejects with `SignatureError`, or with `AccountsError` or `BusyError` for what is to be sent again; what is not for
   * us is ignored.
   */
  receive(body: Buffer, signature: string | undefined): Promise<BillingOutcome>
}

type BillingOutcome = { applied: true; accountId: string } | { applied: false; reason: string }

export class SignatureError extends Error {
  override readonly name = 'SignatureError'
}

const TOLERANCE_S = 300
const MAX_WAITING = 1_000
const MAX_NEWER = 3
const CHECKOUT_WITHIN_MS = 24 * 3_600_000
const FREE_PLAN = 'free'
const ACTIVE = ['active', 'trialing']
const PAYING = [...ACTIVE, ...OVERDUE]
const ENDED = ['canceled', 'incomplete_expired']
const SUBSCRIPTION_EVENTS = [
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'customer.subscription.paused',
  'customer.subscription.resumed',
]

interface StripeEvent {
  id: string
  type: string
  created: number
  data: { object: Record<string, unknown> }
}

export function createBilling(deps: {
  store: BillingStore
  /** Writes to the audit log under the provider's name. */
  accounts: Accounts
  clock: Clock
  secret: string
  planOfPrice: ReadonlyMap<string, string>
}): Billing {
  const { store, accounts, clock } = deps
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0

  async function link(event: StripeEvent): Promise<BillingOutcome> {
    const { customer, client_reference_id: accountId } = event.data.object
    if (typeof customer !== 'string' || typeof accountId !== 'string') {
      return { applied: false, reason: 'the checkout names no customer and account' }
    }
    if (!(await exists(accountId))) return { applied: false, reason: `there is no account ${accountId}` }
    const known = await store.findBilling(customer)
    if (known !== undefined && known.accountId !== accountId && pays(known)) {
      return { applied: false, reason: `the customer ${customer} pays for another account` }
    }
    if (await hasOtherPayer(accountId, customer)) return paidByAnother(accountId)
    const isSame = known?.accountId === accountId
    const isWritten = await store.linkBilling({
      customer,
      accountId,
      lastEventAtMs: known?.lastEventAtMs ?? 0,
      subscription: isSame ? known.subscription : '',
      status: isSame ? known.status : '',
      linkedAtMs: clock.now(),
    })
    if (!isWritten) throw new AccountsError(`The customer ${customer} was changed; send the event again.`)
    return { applied: true, accountId }
  }

  /** Between its checkout and its first subscription a customer counts as paying, for a day. */
  function pays({ status, linkedAtMs }: BillingLink): boolean {
    return status === '' ? clock.now() - linkedAtMs < CHECKOUT_WITHIN_MS : PAYING.includes(status)
  }

  async function hasOtherPayer(accountId: string, customer: string): Promise<boolean> {
    const links = await store.listBilling()
    return links.some((link) => link.accountId === accountId && link.customer !== customer && pays(link))
  }

  const paidByAnother = (accountId: string): BillingOutcome => ({
    applied: false,
    reason: `another customer pays for the account ${accountId}`,
  })

  async function follow(event: StripeEvent): Promise<BillingOutcome> {
    const subscription = event.data.object
    const customer = String(subscription.customer)
    const known = await store.findBilling(customer)
    const accountId = known?.accountId ?? accountOf(subscription.metadata)
    const atMs = event.created * 1000
    if (accountId === undefined && clock.now() - atMs < CHECKOUT_WITHIN_MS) {
      throw new AccountsError(`The customer ${customer} has no account yet; send the event again.`)
    }
    if (accountId === undefined || !(await exists(accountId))) {
      return { applied: false, reason: `the customer ${customer} has no account` }
    }
    const id = typeof subscription.id === 'string' ? subscription.id : ''
    const status = String(subscription.status)
    if (known !== undefined && isOlder({ type: event.type, atMs, id, status }, known)) return outdated
    if (await hasOtherPayer(accountId, customer)) return paidByAnother(accountId)
    const isOther = known !== undefined && known.subscription !== id && PAYING.includes(known.status)
    if (isOther && known.subscription !== '' && !ACTIVE.includes(status)) {
      return { applied: false, reason: `the subscription ${known.subscription} decides` }
    }
    // Before the link: an event that is refused must not decide from then on.
    const plan = ACTIVE.includes(status) ? planOf(pricesOf(subscription)) : undefined
    const linkedAtMs = known?.linkedAtMs ?? clock.now()
    // First, because another process may have had a newer event meanwhile.
    const isNewest = await store.linkBilling({
      customer,
      accountId,
      lastEventAtMs: atMs,
      subscription: id,
      status,
      linkedAtMs,
    })
    if (!isNewest) return outdated
    await apply(accountId, status, plan)
    await applyNewer(customer, accountId, atMs)
    return { applied: true, accountId }
  }

  function planOf(prices: string[]): string {
    const plan = prices.map((price) => deps.planOfPrice.get(price)).find((name) => name !== undefined)
    if (plan === undefined) throw new AccountsError(`No plan is set for the price ${prices.join(', ')}.`)
    return plan
  }

  /** Another process may have applied a newer status just before this one applied its older one. */
  async function applyNewer(customer: string, accountId: string, appliedAtMs: number): Promise<void> {
    for (let atMs = appliedAtMs, times = 0; times < MAX_NEWER; times++) {
      const link = await store.findBilling(customer)
      if (link === undefined || link.accountId !== accountId || link.lastEventAtMs <= atMs) return
      await apply(accountId, link.status, undefined)
      atMs = link.lastEventAtMs
    }
  }

  /** An active status without a plan leaves the plan as it is. */
  async function apply(accountId: string, status: string, plan: string | undefined): Promise<void> {
    const account = await accounts.get(accountId)
    const resume = async () => {
      if (account.pausedReason === 'payment_past_due') await accounts.resume(accountId)
    }
    if (ACTIVE.includes(status)) {
      if (plan !== undefined && plan !== account.plan) await accounts.setPlan(accountId, plan)
      await resume()
    } else if (OVERDUE.includes(status)) {
      if (account.pausedReason === null) await accounts.pause(accountId, 'payment_past_due')
    } else if ([...ENDED, 'paused'].includes(status)) {
      if (account.plan !== FREE_PLAN) await accounts.setPlan(accountId, FREE_PLAN)
      await resume()
    }
  }

  const exists = (accountId: string) =>
    accounts.get(accountId).then(
      () => true,
      (error) => {
        if (error instanceof AccountsError) return false
        throw error
      },
    )

  return {
    async customers() {
      // The one that pays comes last, and therefore wins.
      const links = (await store.listBilling()).sort((a, b) => Number(pays(a)) - Number(pays(b)))
      return new Map(links.map(({ accountId, customer }) => [accountId, customer]))
    },
    async receive(body, signature) {
      checkSignature(body, signature, deps.secret, clock.now())
      if (waiting >= MAX_WAITING) throw new BusyError('Too many events wait. Send it again in a moment.')
      waiting++
      // One after the other: who pays is read and written in several steps.
      const next = last.then(() => handle(body)).finally(() => waiting--)
      last = next.catch(() => undefined)
      return next
    },
  }

  async function handle(body: Buffer): Promise<BillingOutcome> {
    const event = readEvent(body)
    if (await store.hasBillingEvent(event.id)) return { applied: false, reason: 'applied before' }
    const outcome =
      event.type === 'checkout.session.completed'
        ? await link(event)
        : SUBSCRIPTION_EVENTS.includes(event.type)
          ? await follow(event)
          : { applied: false as const, reason: `${event.type} changes nothing here` }
    await store.noteBillingEvent(event.id, clock.now())
    return outcome
  }
}

const outdated: BillingOutcome = { applied: false, reason: 'a newer event was applied already' }

/** The same status again is no older: its event may be here once more because it could not be applied. */
function isOlder(
  { type, atMs, id, status }: { type: string; atMs: number; id: string; status: string },
  known: BillingLink,
): boolean {
  if (atMs !== known.lastEventAtMs) return atMs < known.lastEventAtMs
  if (id === '' || id !== known.subscription || status === known.status) return false
  return type === 'customer.subscription.created' || ENDED.includes(known.status)
}

/** `t=<seconds>,v1=<hex>[,v1=<hex>]`: HMAC-SHA256 of `<t>.<body>`. */
function checkSignature(body: Buffer, header: string | undefined, secret: string, nowMs: number): void {
  const parts = (header ?? '').split(',').map((part) => part.trim().split('='))
  const time = parts.find(([name]) => name === 't')?.[1] ?? ''
  if (!/^\d{1,12}$/.test(time)) throw new SignatureError('The signature is missing.')
  if (Math.abs(nowMs / 1000 - Number(time)) > TOLERANCE_S)
    throw new SignatureError('The signature is too old.')
  const wanted = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  const fits = parts
    .filter(([name]) => name === 'v1')
    .map(([, hex = '']) => Buffer.from(hex, 'hex'))
    .some((given) => given.length === wanted.length && timingSafeEqual(given, wanted))
  if (!fits) throw new SignatureError('The signature does not fit.')
}

function readEvent(body: Buffer): StripeEvent {
  try {
    const event = JSON.parse(body.toString('utf8')) as Partial<StripeEvent>
    const { id, type, created, data } = event
    if (typeof id === 'string' && typeof type === 'string' && typeof created === 'number' && data?.object) {
      return { id, type, created, data }
    }
  } catch {
    // Reported below: to the sender it makes no difference whether it is no JSON or no event.
  }
  throw new AccountsError('The body is not an event.')
}

function accountOf(metadata: unknown): string | undefined {
  const id = (metadata as { account_id?: unknown } | null | undefined)?.account_id
  return typeof id === 'string' ? id : undefined
}

function pricesOf(subscription: Record<string, unknown>): string[] {
  const items = (subscription.items as { data?: { price?: { id?: unknown } }[] } | undefined)?.data ?? []
  return items.flatMap(({ price }) => (typeof price?.id === 'string' ? [price.id] : []))
}
