import { hash } from 'node:crypto'
import { REMEMBERED_MS } from '../accounts/idempotency.ts'
import type { Network } from '../core/chain/network.ts'
import { ApiError, type ErrorDetail, faultsError, type InputFault } from '../core/errors.ts'
import { lowestTier, type Plan } from '../core/plan.ts'
import type { EventKind } from '../events/kinds.ts'
import { parseSelection, type SelectionInput } from '../events/selection.ts'
import { AccountSteps } from '../kit/account-steps.ts'
import { ActiveCounts } from '../kit/active-counts.ts'
import type { Clock } from '../kit/clock.ts'
import type { RandomBytes } from '../kit/random.ts'
import type { SecretBox } from '../kit/secret-box.ts'
import type {
  DeliveryRecord,
  JobsStore,
  NewSubscription,
  OnlyIf,
  SubscriptionPatch,
  SubscriptionPlace,
  SubscriptionRecord,
} from '../store/jobs.ts'
import type { Credits, EndReason } from './credits.ts'
import { type DeliveryAttempt, deliver, notSent, signerOf } from './deliver.ts'
import { isKeyEnd } from './disable.ts'
import { ownSubscription, type SubscriptionPage, subscriptionPage } from './find-subscriptions.ts'
import { type Guard, TargetError } from './guard.ts'
import type { Poster } from './poster.ts'
import { type EventReplay, type ReplayDeps, type ReplayRange, replayEvents } from './replay.ts'
import { sampleEvent } from './sample-event.ts'
import { newSecret, ROTATION_OVERLAP_MS } from './sign.ts'

/** What owners can do with their subscriptions. For any other account a subscription does not exist. */
export interface WebhookSubscriptions {
  /** @param once identifies a repetition of the same request, which finds what the first one created */
  create(
    owner: SubscriptionOwner,
    asked: NewSubscriptionInput,
    once?: string,
  ): Promise<SubscriptionWithSecret>
  /** The faults of those members of a body that have the right type. */
  faultsOf(plan: Plan, body: Readonly<Record<string, unknown>>): Promise<InputFault[]>
  /** Oldest first. A page ends early if it would hold very many addresses, but has at least one subscription. */
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
  /** Sends the events of a range that the log still has again, as far as the credits and the backlog allow. */
  replay(accountId: string, id: string, range: ReplayRange, isGone?: () => boolean): Promise<EventReplay>
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
/** Limit for attempts when rotations, or changes of the selection, run at the same time. */
const MAX_TRIES = 20
/** Sample events of one account that wait for their receivers. Each has a connection of its own for up to 15 s. */
const MAX_TESTS = 10
/** How often one Idempotency-Key can be reused, each time a day or more later. */
const MAX_REUSES = 100
const isOfEarlier = (found: SubscriptionRecord, asked: NewSubscription) =>
  asked.createdAtMs - found.createdAtMs > REMEMBERED_MS

/** The plans of the service and the page where they can be changed, for a refusal because of a plan's limit. */
export interface LargerPlans {
  readonly plans: readonly Plan[]
  readonly url: string
}

export interface WebhookSubscriptionsDeps extends ReplayDeps {
  readonly clock: Clock
  readonly credits: Pick<Credits, 'available' | 'currentEndOf'>
  readonly store: JobsStore
  readonly network: Network
  readonly guard: Guard
  readonly poster: Poster
  readonly box: SecretBox
  readonly randomBytes: RandomBytes
  readonly upgrade?: LargerPlans | undefined
  /** A subscription is about to be created or enabled here. Never fails. */
  readonly beforeAdding: () => Promise<void>
  /** Subscriptions were changed here. Never fails, because the change is already written. */
  readonly onChange: () => Promise<void>
}

export function createWebhookSubscriptions(deps: WebhookSubscriptionsDeps): WebhookSubscriptions {
  const { store, network, guard, poster, box, clock, credits, randomBytes } = deps
  const newId = (once?: string) =>
    `wh_${once === undefined ? randomBytes(ID_BYTES).toString('hex') : hash('sha256', once).slice(0, 2 * ID_BYTES)}`

  const replays = new AccountSteps()
  const tests = new ActiveCounts<string>()
  const mustFind = (accountId: string, id: string) => ownSubscription(store, accountId, id)

  /**
   * Returns the subscription that the store has, because an earlier try may have succeeded without its answer arriving.
   * One that the same key created more than a day ago belongs to another request.
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

  /** The target, or the fault in it. */
  async function checkTarget(text: string): Promise<URL | InputFault> {
    try {
      return await guard.check(text)
    } catch (error) {
      if (!(error instanceof TargetError)) throw error
      const message = `${error.message}.`
      return { param: 'url', error: 'invalid_param', message, reason: 'target_refused' }
    }
  }

  /**
   * What to write of the selection. The part that is not given must still be what the given one was checked with,
   * because another request may change it at the same time.
   */
  async function selectionPatch(
    found: SubscriptionRecord,
    { kinds, addresses }: SubscriptionChange,
    plan: Plan,
  ): Promise<{ patch: SubscriptionPatch; onlyIf: OnlyIf }> {
    if (kinds === undefined && addresses === undefined) return { patch: {}, onlyIf: {} }
    const asked = { kinds: kinds ?? found.kinds, addresses: addresses ?? found.addresses }
    const patch = await selectionOf(asked, plan)
    if (kinds === undefined) return { patch: { addresses: patch.addresses }, onlyIf: { kinds: found.kinds } }
    if (addresses === undefined)
      return { patch: { kinds: patch.kinds }, onlyIf: { addresses: found.addresses } }
    return { patch: { kinds: patch.kinds, addresses: patch.addresses }, onlyIf: {} }
  }

  /** Undefined if another change was faster, or the webhook was deleted. */
  async function tryPatch(
    owner: SubscriptionOwner,
    id: string,
    change: SubscriptionChange,
  ): Promise<SubscriptionRecord | undefined> {
    const found = await mustFind(owner.accountId, id)
    const { active, batch } = change
    // Another process may have ended either key a moment ago. What is cached would let a webhook be enabled for a key
    // that has ended, which would end the webhook right away.
    const end = await credits.currentEndOf(owner.keyId)
    if (end !== undefined) throw keyHasEnded(end)
    const hasEnded =
      active === true &&
      (isKeyEnd(found.disabledReason) || (await credits.currentEndOf(found.keyId)) !== undefined)
    const selection = await selectionPatch(found, change, owner.plan)
    if (active === true) await deps.beforeAdding()
    const patch = {
      ...selection.patch,
      ...(batch === undefined ? {} : { batch }),
      ...(active === undefined ? {} : { active }),
      // Re-activation resets the failures.
      ...(active === true ? { disabledReason: null, disabledAtMs: null, failingSinceMs: null } : {}),
      // The key that created it has ended, so it now belongs to the key that enables it.
      ...(hasEnded ? { keyId: owner.keyId } : {}),
    }
    return store.updateSubscription(id, patch, selection.onlyIf)
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
      // A member that is missing or has the wrong type was already reported, so a harmless value takes its place.
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
      for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
        const updated = await tryPatch(owner, id, change)
        if (updated === undefined) continue
        await deps.onChange()
        return updated
      }
      throw tooManyAtOnce('Other changes of this webhook')
    },
    async rotate(accountId, id) {
      const secret = newSecret(randomBytes)
      for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
        const found = await mustFind(accountId, id)
        const previous = overlapOf(found, clock.now())
        const change = { secret: box.seal(secret), ...previous }
        const subscription = await store.updateSubscription(id, change, { secret: found.secret })
        // Another rotation was faster, or the webhook was deleted.
        if (subscription === undefined) continue
        await deps.onChange()
        return { subscription, secret, previousUntilMs: previous.previousUntilMs }
      }
      throw tooManyAtOnce('Other rotations of this webhook')
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
      if (tests.left(accountId, MAX_TESTS) <= 0)
        throw tooManyAtOnce(`${MAX_TESTS} tests of webhooks of this account`)
      const end = tests.add(accountId)
      const attempt = await send()
        .catch((error: unknown) => {
          // A target that was allowed when the webhook was created may no longer be.
          if (error instanceof TargetError) return notSent(error, clock.now())
          throw error
        })
        .finally(end)
      return { ...attempt, id: deliveryId, eventId: event.id }
    },
    async replay(accountId, id, range, isGone) {
      const found = await mustFind(accountId, id)
      // One at a time, so that each replay sees what the ones before it have planned.
      return replays.run(accountId, () => replayEvents(deps, found, range, isGone))
    },
  }
}

/**
 * The secret that signs alongside a new one. While the overlap of an earlier rotation lasts, this stays the secret from
 * before that rotation: receivers were promised a day for it, and the secret in between may never have reached them.
 */
function overlapOf({ secret, previousSecret, previousUntilMs }: SubscriptionRecord, nowMs: number) {
  const isRunning = previousSecret !== null && previousUntilMs !== null && previousUntilMs > nowMs
  return isRunning
    ? { previousSecret, previousUntilMs }
    : { previousSecret: secret, previousUntilMs: nowMs + ROTATION_OVERLAP_MS }
}

function keyHasEnded(reason: EndReason): ApiError {
  return reason === 'key_revoked'
    ? new ApiError('unauthorized', 'The API key was revoked.', { reason: 'revoked' })
    : new ApiError('unauthorized', 'The API key has expired.', { reason: 'expired' })
}

function tooManyAtOnce(others: string): ApiError {
  const text = `${others} are under way.`
  return new ApiError('rate_limited', text, { retry_after: 1 }, [['Retry-After', '1']])
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
