import { hash } from 'node:crypto'
import { REMEMBERED_MS } from '../accounts/idempotency.ts'
import type { Network } from '../core/chain/network.ts'
import { ApiError, type ErrorDetail, faultsError, type InputFault } from '../core/errors.ts'
import { lowestTier, type Plan } from '../core/plan.ts'
import type { EventKind } from '../events/kinds.ts'
import { parseSelection, type SelectionInput } from '../events/selection.ts'
import type { Clock } from '../kit/clock.ts'
import type { RandomBytes } from '../kit/random.ts'
import type { SecretBox } from '../kit/secret-box.ts'
import type {
  DeliveryRecord,
  JobsStore,
  NewSubscription,
  SubscriptionPatch,
  SubscriptionPlace,
  SubscriptionRecord,
} from '../store/jobs.ts'
import type { Credits } from './credits.ts'
import { type DeliveryAttempt, deliver, notSent, signerOf } from './deliver.ts'
import { isKeyEnd } from './disable.ts'
import { ownSubscription, type SubscriptionPage, subscriptionPage } from './find-subscriptions.ts'
import { type Guard, TargetError } from './guard.ts'
import type { Poster } from './poster.ts'
import { type EventReplay, type ReplayDeps, type ReplayRange, replayEvents } from './replay.ts'
import { sampleEvent } from './sample-event.ts'
import { newSecret, ROTATION_OVERLAP_MS } from './sign.ts'

/** What owners can do with their subscriptions. For any other account it does not exist. */
export interface WebhookSubscriptions {
  /** @param once what a repetition of the same request has in common with it: it finds what the first one has made */
  create(
    owner: SubscriptionOwner,
    asked: NewSubscriptionInput,
    once?: string,
  ): Promise<SubscriptionWithSecret>
  /** Faults of those members of a body that have the right type. */
  faultsOf(plan: Plan, body: Readonly<Record<string, unknown>>): Promise<InputFault[]>
  /** Oldest first. A page ends early rather than hold very many addresses, but has at least one subscription. */
  list(accountId: string, page: { limit: number; after?: SubscriptionPlace }): Promise<SubscriptionPage>
  find(accountId: string, id: string): Promise<SubscriptionRecord>
  remove(accountId: string, id: string): Promise<void>
  patch(owner: SubscriptionOwner, id: string, change: SubscriptionChange): Promise<SubscriptionRecord>
  rotate(accountId: string, id: string): Promise<SubscriptionWithSecret & { previousUntilMs: number }>
  deliveries(
    accountId: string,
    id: string,
    page: { limit: number; before?: string },
  ): Promise<DeliveryRecord[]>
  /** Sends a sample event at once; nothing is charged or stored. */
  test(accountId: string, id: string): Promise<DeliveryAttempt & { id: string; eventId: string }>
  /** Sends again what the log still has of a range, as far as credits and the backlog allow. */
  replay(accountId: string, id: string, range: ReplayRange): Promise<EventReplay>
}

interface SubscriptionOwner {
  readonly accountId: string
  readonly keyId: string
  readonly plan: Plan
}

interface NewSubscriptionInput extends SelectionInput {
  readonly url: string
  readonly batch: boolean
}

interface SubscriptionChange {
  readonly active?: boolean
  readonly kinds?: readonly string[]
  readonly addresses?: readonly string[]
  readonly batch?: boolean
}

interface SubscriptionWithSecret {
  readonly subscription: SubscriptionRecord
  readonly secret: string
}

const ID_BYTES = 10
/** Of rotations at the same moment. */
const MAX_ROTATION_TRIES = 20
/** Of one Idempotency-Key, a day or more apart. */
const MAX_REUSES = 100
const isOfEarlier = (found: SubscriptionRecord, asked: NewSubscription) =>
  asked.createdAtMs - found.createdAtMs > REMEMBERED_MS

/** The plans of the service, and where they can be changed: what a refusal for the plan's limit names. */
export interface LargerPlans {
  readonly plans: readonly Plan[]
  readonly url: string
}

export interface WebhookSubscriptionsDeps extends ReplayDeps {
  readonly clock: Clock
  readonly credits: Pick<Credits, 'available' | 'endOf'>
  readonly store: JobsStore
  readonly network: Network
  readonly guard: Guard
  readonly poster: Poster
  readonly box: SecretBox
  readonly randomBytes: RandomBytes
  readonly upgrade?: LargerPlans | undefined
  /** One is about to be created or switched on here. It never fails. */
  readonly beforeAdding: () => Promise<void>
  /** Subscriptions were changed here. It never fails: what was done is done. */
  readonly onChange: () => Promise<void>
}

export function createWebhookSubscriptions(deps: WebhookSubscriptionsDeps): WebhookSubscriptions {
  const { store, network, guard, poster, box, clock, credits, randomBytes } = deps
  const newId = (once?: string) =>
    `wh_${once === undefined ? randomBytes(ID_BYTES).toString('hex') : hash('sha256', once).slice(0, 2 * ID_BYTES)}`

  const mustFind = (accountId: string, id: string) => ownSubscription(store, accountId, id)

  /**
   * As the store has it: an earlier try may have been carried out without an answer. What the same key made more than a
   * day ago is another request's.
   */
  async function createOnce(asked: NewSubscription, most: number, once?: string) {
    let created = await store.createSubscription(asked, most)
    for (let reuse = 1; created !== undefined && isOfEarlier(created, asked); reuse++) {
      const id = newId(reuse > MAX_REUSES ? undefined : `${once}/${reuse}`)
      created = await store.createSubscription({ ...asked, id }, most)
    }
    return created
  }

  async function selectionOf(asked: SelectionInput, plan: Plan) {
    const checked = await parseSelection(asked, { network, maxAddresses: plan.webhookAddresses })
    if (!checked.ok) throw faultsError(checked.faults)
    return checked.selection
  }

  /** The target, or what is wrong with it. */
  async function checkTarget(text: string): Promise<URL | InputFault> {
    try {
      return await guard.check(text)
    } catch (error) {
      if (!(error instanceof TargetError)) throw error
      const message = `${error.message}.`
      return { param: 'url', error: 'invalid_param', message, reason: 'target_refused' }
    }
  }

  async function update(id: string, patch: SubscriptionPatch): Promise<SubscriptionRecord> {
    const updated = await store.updateSubscription(id, patch)
    if (updated === undefined) throw new ApiError('not_found', `There is no webhook ${id}.`, { param: 'id' })
    await deps.onChange()
    return updated
  }

  return {
    async create(owner, asked, once) {
      const [checked, target] = await Promise.all([
        parseSelection(asked, { network, maxAddresses: owner.plan.webhookAddresses }),
        checkTarget(asked.url),
      ])
      const refused = target instanceof URL ? [] : [target]
      if (!checked.ok || !(target instanceof URL)) {
        throw faultsError([...(checked.ok ? [] : checked.faults), ...refused])
      }
      const { selection } = checked
      const secret = newSecret(randomBytes)
      const most = owner.plan.webhookSubscriptions
      const subscription: NewSubscription = {
        id: newId(once),
        accountId: owner.accountId,
        keyId: owner.keyId,
        url: target.href,
        kinds: selection.kinds,
        addresses: selection.addresses,
        batch: asked.batch,
        createdAtMs: clock.now(),
        secret: box.seal(secret),
      }
      await deps.beforeAdding()
      const created = await createOnce(subscription, most, once)
      if (created === undefined) {
        throw new ApiError('tier_restricted', `The plan ${owner.plan.name} allows ${most} webhooks.`, {
          reason: 'too_many_webhooks',
          ...largerPlan(deps.upgrade, most),
        })
      }
      await deps.onChange()
      return { subscription: created, secret: box.open(created.secret) }
    },
    async faultsOf(plan, { url, kinds, addresses }) {
      const given = {
        ...(isTexts(kinds) ? { kinds } : {}),
        ...(isTexts(addresses) ? { addresses } : {}),
      }
      const target = typeof url === 'string' ? await checkTarget(url) : undefined
      // A member that is missing or has the wrong type was reported already; a harmless value takes its place.
      const checked = await parseSelection(
        { kinds: given.kinds ?? [HARMLESS_KIND], addresses: given.addresses ?? [] },
        { network, maxAddresses: plan.webhookAddresses },
      )
      const found = checked.ok ? [] : checked.faults
      const isGiven = ({ param }: InputFault) => (param.split('.')[0] ?? '') in given
      return [...(target === undefined || target instanceof URL ? [] : [target]), ...found.filter(isGiven)]
    },
    list: (accountId, page) => subscriptionPage(store, accountId, page),
    find: mustFind,
    async remove(accountId, id) {
      await mustFind(accountId, id)
      await store.deleteSubscription(id)
      await deps.onChange()
    },
    async patch(owner, id, change) {
      const found = await mustFind(owner.accountId, id)
      const { active, batch } = change
      // One that is off is not checked, so its key may have ended since.
      const hasEnded =
        active === true && (isKeyEnd(found.disabledReason) || (await credits.endOf(found)) !== undefined)
      const selection =
        change.kinds === undefined && change.addresses === undefined
          ? undefined
          : await selectionOf(
              { kinds: change.kinds ?? found.kinds, addresses: change.addresses ?? found.addresses },
              owner.plan,
            )
      if (active === true) await deps.beforeAdding()
      return update(id, {
        ...(selection === undefined ? {} : { kinds: selection.kinds, addresses: selection.addresses }),
        ...(batch === undefined ? {} : { batch }),
        ...(active === undefined ? {} : { active }),
        // Re-activation resets the failures.
        ...(active === true ? { disabledReason: null, disabledAtMs: null, failingSinceMs: null } : {}),
        // The key that created it has ended: it now belongs to the one that switches it on.
        ...(hasEnded ? { keyId: owner.keyId } : {}),
      })
    },
    async rotate(accountId, id) {
      const secret = newSecret(randomBytes)
      for (let attempt = 0; attempt < MAX_ROTATION_TRIES; attempt++) {
        const found = await mustFind(accountId, id)
        const previous = overlapOf(found, clock.now())
        const change = { secret: box.seal(secret), ...previous }
        const subscription = await store.updateSubscription(id, change, { secret: found.secret })
        // Another rotation was faster, or the webhook is gone.
        if (subscription === undefined) continue
        await deps.onChange()
        return { subscription, secret, previousUntilMs: previous.previousUntilMs }
      }
      const text = 'Other rotations of this webhook are under way.'
      throw new ApiError('rate_limited', text, { retry_after: 1 }, [['Retry-After', '1']])
    },
    async deliveries(accountId, id, page) {
      await mustFind(accountId, id)
      return store.deliveries({ subscriptionId: id, ...page })
    },
    async test(accountId, id) {
      const found = await mustFind(accountId, id)
      const event = sampleEvent(found, network, clock.now(), randomBytes)
      const deliveryId = `dlv_test_${newId().slice(3)}`
      const body = found.batch ? `[${event.text}]` : event.text
      const parcel = { id: deliveryId, kind: found.batch ? 'batch' : event.kind, body }
      const send = async () => {
        const target = { url: guard.checkForm(found.url), signer: signerOf(found, box, clock.now()) }
        return deliver({ poster, clock }, target, parcel)
      }
      const attempt = await send().catch((error: unknown) => {
        // One that was allowed when the webhook was created need not be any more.
        if (error instanceof TargetError) return notSent(error, clock.now())
        throw error
      })
      return { ...attempt, id: deliveryId, eventId: event.id }
    },
    async replay(accountId, id, range) {
      return replayEvents(deps, await mustFind(accountId, id), range)
    },
  }
}

/**
 * The secret that signs beside a new one. While an earlier rotation's overlap runs, that stays the one of before it, for
 * which receivers were promised a day: the secret in between may never have reached them.
 */
function overlapOf({ secret, previousSecret, previousUntilMs }: SubscriptionRecord, nowMs: number) {
  const isRunning = previousSecret !== null && previousUntilMs !== null && previousUntilMs > nowMs
  return isRunning
    ? { previousSecret, previousUntilMs }
    : { previousSecret: secret, previousUntilMs: nowMs + ROTATION_OVERLAP_MS }
}

/** Needs no addresses. */
const HARMLESS_KIND: EventKind = 'block_added'

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}

function largerPlan(upgrade: LargerPlans | undefined, most: number): ErrorDetail {
  if (upgrade === undefined) return {}
  const tier = lowestTier(upgrade.plans, (plan) => plan.webhookSubscriptions > most)
  return tier === null ? {} : { required_tier: tier, upgrade_url: upgrade.url }
}
