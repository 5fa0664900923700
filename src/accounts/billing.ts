import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../kit/clock.ts'
import type { BillingLink, BillingStore } from '../store/billing.ts'
import type { Accounts } from './accounts.ts'
import { AccountsError } from './accounts.ts'
import { BusyError } from './hash-queue.ts'
import { OVERDUE } from './overdue.ts'

/**
 * Applies events of the payment provider, in Stripe's format, to accounts:
 *
 *   active, trialing            → the plan of the price; an account paused for payment is resumed
 *   past_due, unpaid            → paused (payment past due)
 *   canceled, incomplete_expired, paused → the free plan; an account paused for payment is resumed
 *   incomplete                  → nothing yet
 *
 * The account is named by `client_reference_id` of the checkout or `metadata.account_id` of the subscription, and from
 * then on by the customer. The provider cannot end a pause by the operator; when the operator ends it and the payment
 * is past due, the account stays paused for that reason (see overdue.ts).
 *
 * Only one customer pays for an account. While it does, the checkout or subscription of another customer changes
 * nothing there, and the paying customer cannot be moved to another account. If the customer has several subscriptions,
 * the one that was active last decides; the end of another one does not end the plan.
 *
 * Events have a resolution of whole seconds. Within one second, the creation of a subscription counts as older than any
 * other status of it, and its end as newer.
 *
 * The provider guarantees no order. A subscription of a customer whose checkout has not arrived yet is rejected and not
 * recorded, so that it is sent again; after a day without a checkout, the customer's events are ignored.
 */
export interface Billing {
  /** The provider's customer of each account, if known. */
  customers(): Promise<ReadonlyMap<string, string>>
  /**
   * Rejects with `SignatureError`, or with `AccountsError` or `BusyError` for events that should be sent again. Events
   * that do not concern us are ignored.
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
    // Determined before the link is written, because a rejected event must not become the newest one.
    const plan = ACTIVE.includes(status) ? planOf(pricesOf(subscription)) : undefined
    const linkedAtMs = known?.linkedAtMs ?? clock.now()
    // Written first, because another process may have applied a newer event in the meantime.
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

  /** Another process may have applied a newer status just before this one applied an older one. */
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
      // The paying customer comes last, so it replaces the others in the map.
      const links = (await store.listBilling()).sort((a, b) => Number(pays(a)) - Number(pays(b)))
      return new Map(links.map(({ accountId, customer }) => [accountId, customer]))
    },
    async receive(body, signature) {
      checkSignature(body, signature, deps.secret, clock.now())
      if (waiting >= MAX_WAITING) throw new BusyError('Too many events wait. Send it again in a moment.')
      waiting++
      // Events are handled one after another, because who pays is read and written in several steps.
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

/** The same status again is not older, because its event may be delivered again after it could not be applied. */
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
    // Reported below: for the sender, invalid JSON and a body that is no event are the same.
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
