import type { Network } from '../core/chain/network.ts'
import type { EventTail } from '../events/publish.ts'
import { type Clock, runEvery } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { RandomBytes } from '../kit/random.ts'
import type { SecretBox } from '../kit/secret-box.ts'
import { Slice } from '../kit/time-slices.ts'
import type { EventStore } from '../store/events.ts'
import type { JobsStore, SubscriptionRecord } from '../store/jobs.ts'
import type { Credits, DeliveryPauseReason, EndReason } from './credits.ts'
import { createDeliveries, type Deliveries } from './deliveries.ts'
import { createExpectedEvents, type ExpectedKind } from './expected-events.ts'
import { createGuard, type Resolve } from './guard.ts'
import { startPlanner } from './plan-deliveries.ts'
import type { OpenPoster } from './poster.ts'
import { createSubscriptionBook, type WatchAddresses } from './subscription-book.ts'
import { createWebhookSubscriptions, type LargerPlans, type WebhookSubscriptions } from './subscriptions.ts'
import { DeliveryWorker } from './work.ts'

/** The running webhooks of one environment. */
export interface WebhookService {
  readonly subscriptions: WebhookSubscriptions
  readonly deliveries: Deliveries
  /** Events and credits to expect per day, by kind. */
  readonly expected: () => Promise<ExpectedKind[]>
  /** Why nothing is delivered to an enabled webhook. */
  pauseOf(subscription: SubscriptionRecord): Promise<DeliveryPauseReason | undefined>
  /** Accounts or keys were changed; webhooks whose key has ended are stopped. */
  accountsChanged(accountIds: readonly string[]): void
  status(): Promise<{ pending: number; oldest_pending_seconds: number }>
  /** How many webhooks are enabled. */
  readonly activeCount: number
  /** How far this process is behind; undefined if another one delivers. */
  delay(): { overdueMs: number; unplannedEvents: number } | undefined
  close(): Promise<void>
}

export interface WebhookServiceDeps {
  readonly store: JobsStore
  readonly events: Pick<EventStore, 'after' | 'byId' | 'bounds' | 'seqBefore' | 'logId'>
  readonly tail: Pick<EventTail, 'listen' | 'seq'>
  readonly credits: Credits
  readonly box: SecretBox
  readonly network: Network
  readonly watch: WatchAddresses
  /** Whether events are planned and delivered here rather than by another process. */
  readonly delivers?: boolean
  readonly allowPrivate: boolean
  readonly openPoster: OpenPoster
  readonly resolve: Resolve
  readonly clock: Clock
  readonly random: () => number
  readonly randomBytes: RandomBytes
  readonly log: Logger
  readonly upgrade?: LargerPlans
  readonly retryDelaysMs?: readonly number[]
  readonly answerLimitMs?: number
}

/** How soon a change by another process, or an event that was not announced here, is noticed. */
const REFRESH_MS = 1_000
const PRUNE_MS = 600_000
const HISTORY_MS = 7 * 24 * 3_600_000
/** Expired keys are not announced, so they are looked for. */
const KEY_CHECK_MS = 30_000
/** Each round of pruning removes a limited number of rows. */
const MAX_PRUNE_ROUNDS = 200
/** An embedded store counts on this thread, so a count this large is cached for a while. */
const MANY_PENDING = 50_000
const MANY_PENDING_MS = 10_000

export async function startWebhooks(deps: WebhookServiceDeps): Promise<WebhookService> {
  const { store, events, tail, credits, box, clock, log, delivers = true } = deps
  const guard = createGuard({ allowPrivate: deps.allowPrivate, resolve: deps.resolve })
  const poster = deps.openPoster({
    guard,
    clock,
    ...(deps.answerLimitMs ? { answerLimitMs: deps.answerLimitMs } : {}),
  })
  const book = createSubscriptionBook({ store, watch: deps.watch, log })
  /** The worker has stopped a webhook but could not check whether the store has disabled it. */
  let isUnsure = false
  const reload = async () => {
    if (!(await book.reload()) && !isUnsure) return
    isUnsure = false
    worker?.refresh(book.all)
  }
  /** Refreshes the worker even if nothing has changed: the write may have failed, and then the webhook continues. */
  const reloadStopped = async () => {
    try {
      await book.reload()
    } catch (error) {
      isUnsure = true
      throw error
    }
    worker?.refresh(book.all)
  }
  const worker = delivers
    ? new DeliveryWorker({
        store,
        credits,
        guard,
        poster,
        box,
        clock,
        random: deps.random,
        log,
        onKeyEnd: (ended, reason) => void endWebhook(ended, reason).catch(onEndFailed),
        onDisabled: (id) => {
          const report = () => {
            // Not if another process has delivered to it in the meantime.
            if (book.all.get(id)?.active === false)
              log.warn({ subscription: id }, 'a webhook was switched off')
          }
          reloadStopped().then(report, (err) => log.error({ err }, 'webhooks could not be read again'))
        },
        ...(deps.retryDelaysMs ? { retryDelaysMs: deps.retryDelaysMs } : {}),
      })
    : undefined
  const endWebhook = async ({ id, keyId }: SubscriptionRecord, reason: EndReason) => {
    const patch = { active: false, disabledReason: reason, disabledAtMs: clock.now() }
    // Not if it belongs to another key by now, which has enabled it; then it continues.
    const ended = await store.updateSubscription(id, patch, { keyId })
    if (ended !== undefined)
      log.warn({ subscription: id, reason }, 'a webhook was switched off because its key has ended')
    await reloadStopped()
  }
  const onEndFailed = (err: unknown) => log.error({ err }, 'a webhook could not be switched off')
  /** For these accounts, or for all. */
  const checkKeys = async (accountIds?: readonly string[]) => {
    const due = [...book.all.values()].filter(
      ({ active, accountId }) => active && (accountIds === undefined || accountIds.includes(accountId)),
    )
    // Awaiting an embedded store never yields to the event loop.
    const slice = new Slice()
    for (const { id } of due) {
      // The subscription may have changed while others were checked.
      const subscription = book.all.get(id)
      const reason = subscription?.active ? await credits.endOf(subscription) : undefined
      if (subscription !== undefined && reason !== undefined) await endWebhook(subscription, reason)
      if (slice.isOver) await slice.next()
    }
  }
  await reload()
  await checkKeys()
  // Loaded while nobody waits yet, rather than with the first delivery.
  if (delivers && book.activeCount > 0) poster.prepare()
  const planner =
    worker &&
    (await startPlanner({
      clock,
      store,
      events,
      book,
      reload,
      tailSeq: () => tail.seq,
      log,
      onPlanned: (ids) => worker.wake(ids),
    }))
  const stopListening = planner && tail.listen(() => planner.wake(), { isIdle: () => book.activeCount === 0 })
  let many: { count: number; oldestAtMs: number | null; readAtMs: number } | undefined
  const countPending = async () => {
    if (many !== undefined && isRecent(many.readAtMs, clock.now())) return many
    const found = await store.pending()
    many = found.count < MANY_PENDING ? undefined : { ...found, readAtMs: clock.now() }
    return found
  }
  const prune = () => pruneAll(store).catch((err) => log.error({ err }, 'pruning deliveries failed'))
  const stopTimers = [
    runEvery(clock, REFRESH_MS, () => {
      planner?.wakeAndWrite()
      reload().catch((err) => log.error({ err }, 'webhooks could not be read again'))
    }),
    ...(delivers ? [runEvery(clock, PRUNE_MS, () => void prune())] : []),
    runEvery(clock, KEY_CHECK_MS, () => void checkKeys().catch(onEndFailed)),
  ]

  return {
    subscriptions: createWebhookSubscriptions({
      store,
      events,
      network: deps.network,
      guard,
      poster,
      box,
      clock,
      randomBytes: deps.randomBytes,
      credits,
      upgrade: deps.upgrade,
      plannedSeq: async () => planner?.written ?? (await store.position()) ?? 0,
      beforeAdding: async () => planner?.beforeAdding(),
      // After a failure, the next refresh reads them.
      onChange: () => reload().catch((err) => log.error({ err }, 'webhooks could not be read again')),
      onPlanned: (id) => worker?.wake([id]),
    }),
    expected: createExpectedEvents({ events, clock }),
    deliveries: createDeliveries({ store, events, onDue: (id) => worker?.wake([id]) }),
    pauseOf: async (subscription) => (subscription.active ? credits.pauseOf(subscription) : undefined),
    accountsChanged(accountIds) {
      credits.forget(accountIds)
      checkKeys(accountIds).catch(onEndFailed)
    },
    async status() {
      const { count, oldestAtMs } = await countPending()
      const ageMs = oldestAtMs === null ? 0 : clock.now() - oldestAtMs
      return { pending: count, oldest_pending_seconds: Math.max(0, Math.round(ageMs / 1000)) }
    },
    get activeCount() {
      return book.activeCount
    },
    delay: () =>
      worker &&
      planner && {
        overdueMs: worker.overdueMs,
        unplannedEvents: Math.max(0, tail.seq - planner.position),
      },
    async close() {
      for (const stop of stopTimers) stop()
      stopListening?.()
      await planner?.close()
      if (worker === undefined) poster.close()
      await worker?.close()
      book.close()
    },
  }
}

function isRecent(atMs: number, nowMs: number): boolean {
  return nowMs >= atMs && nowMs - atMs < MANY_PENDING_MS
}

/** Prunes in rounds, so that no write is long. All rounds together remove more than a busy service adds in between. */
async function pruneAll(store: Pick<JobsStore, 'prune'>): Promise<number> {
  let removed = 0
  for (let round = 0; round < MAX_PRUNE_ROUNDS; round++) {
    const some = await store.prune(HISTORY_MS)
    removed += some
    if (some === 0) break
  }
  return removed
}
