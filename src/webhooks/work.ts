import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { SecretBox } from '../kit/secret-box.ts'
import type { Job, JobAttempt, JobOutcome, JobsStore, SubscriptionRecord } from '../store/jobs.ts'
import type { Credits, DeliveryPauseReason, EndReason, Reservation } from './credits.ts'
import { BATCH_EVENTS, type DeliveryAttempt, deliver, deliveryBody, signerOf } from './deliver.ts'
import { disableReason, isKeyEnd } from './disable.ts'
import type { Guard } from './guard.ts'
import type { Poster } from './post.ts'
import {
  claimNow,
  createReceiverQueue,
  type ReceiverQueue,
  SLOW_ANSWER_MS,
  slotsOf,
  type Target,
} from './receiver-queue.ts'
import { retryDelayMs } from './schedule.ts'
import { createOutcomeWriter, jobRef } from './write-outcomes.ts'

/**
 * Brings jobs to their receivers.
 *
 *   wake(subscription) ─▶ queue: claim (leased) ─▶ credits set aside ─▶ POST ─▶ charge ─▶ settle (in groups)
 *        ▲                                             │                 │
 *        └── poll: leases that ran out, retries        └─ none left:     └─ failed: later again, or for good
 *                                                         pause, give back
 *
 * Whatever dies on the way, the lease of its jobs runs out and they are claimed again.
 */
export interface Worker {
  /** These subscriptions have new jobs. */
  wake(subscriptionIds: Iterable<string>): void
  /** Subscriptions were created, changed or deleted. */
  refresh(subscriptions: ReadonlyMap<string, SubscriptionRecord>): void
  /** Why a subscription gets nothing for now. */
  pauseOf(subscriptionId: string): DeliveryPauseReason | undefined
  /** Ends what is under way, gives the rest back. */
  close(): Promise<void>
}

export interface WorkerDeps {
  readonly store: JobsStore
  readonly credits: Credits
  readonly guard: Guard
  readonly poster: Poster
  readonly box: SecretBox
  readonly clock: Clock
  readonly log: Logger
  /** The service switched a subscription off. */
  readonly onDisabled: (subscriptionId: string) => void
  /** A subscription is to be switched off because its key has ended. */
  readonly onKeyEnd: (subscriptionId: string, reason: EndReason) => void
  readonly retryDelaysMs?: readonly number[]
  readonly leaseMs?: number
}

interface Try {
  readonly queue: ReceiverQueue
  readonly beganAtMs: number
  /** Begun for a slow receiver; counted apart. */
  readonly slow: boolean
  /** Begun as a quick one, and not answered in time: counted nowhere but in the whole. */
  old: boolean
}

/** Longer than a try can take, and short enough that the jobs of a dead worker return within 30 s. */
export const LEASE_MS = 25_000
/** A job is not begun when what is left of its lease would not cover the try. */
const MIN_LEASE_SHARE = 0.64
export const POLL_MS = 1_000
const PAUSE_MS = 5_000
/** Tries that are neither old nor to a slow receiver. */
const MAX_QUICK_IN_FLIGHT = 1_000
const CROWDED_IN_FLIGHT = 500
const MAX_SLOW_IN_FLIGHT = 500
/** Quick ones that have become old hold their sockets until their time is over. */
const MAX_IN_FLIGHT = 3_000
const AGE_CHECK_MS = 250
const CLOSE_LIMIT_MS = 3_000
/** An event of a batch waits so long for others to come along. */
export const BATCH_WAIT_MS = 200

export function startWorker(deps: WorkerDeps): Worker {
  const { store, credits, guard, poster, box, clock, log } = deps
  const leaseMs = deps.leaseMs ?? LEASE_MS
  const leastLeaseMs = leaseMs * MIN_LEASE_SHARE
  const queues = new Map<string, ReceiverQueue>()
  const starved = new Set<ReceiverQueue>()
  /** Oldest first. */
  const tries = new Set<Try>()
  let quickInFlight = 0
  let slowInFlight = 0
  let closed = false
  let cut = false
  const settlement = createOutcomeWriter({ store, log })

  function hasRoom(queue: ReceiverQueue): boolean {
    const crowded = quickInFlight >= CROWDED_IN_FLIGHT
    if (queue.inFlight >= slotsOf(queue, crowded)) {
      if (queue.inFlight < slotsOf(queue, false)) starved.add(queue)
      return false
    }
    const ownRoom = queue.slow ? slowInFlight < MAX_SLOW_IN_FLIGHT : quickInFlight < MAX_QUICK_IN_FLIGHT
    // The first slot is everybody's: it shows whether a receiver is slow.
    if ((ownRoom || queue.inFlight === 0) && tries.size < MAX_IN_FLIGHT) return true
    starved.add(queue)
    return false
  }

  function pump(queue: ReceiverQueue): void {
    if (closed || !queue.subscription.active || clock.now() < queue.pausedUntilMs) return
    while (hasRoom(queue)) {
      if (queue.buffer.length === 0 || isGathering(queue)) break
      if (!queue.breaker.tryEnter()) break
      const take = queue.subscription.batch ? BATCH_EVENTS : 1
      void run(queue, queue.buffer.splice(0, take))
    }
    const wanted = claimNow(queue)
    if (queue.hungry && wanted > 0 && queue.breaker.state() !== 'open') void claim(queue, wanted)
  }

  /** A batch that is not full is held back until its first event has waited long enough. */
  function isGathering(queue: ReceiverQueue): boolean {
    const { subscription, buffer } = queue
    if (!subscription.batch || buffer.length >= BATCH_EVENTS) {
      stopGathering(queue)
      return false
    }
    const nowMs = clock.now()
    queue.batchDueMs ??= nowMs + BATCH_WAIT_MS
    const leftMs = queue.batchDueMs - nowMs
    // A clock that was set back would hold them for as long.
    if (leftMs <= 0 || leftMs > BATCH_WAIT_MS) {
      stopGathering(queue)
      return false
    }
    queue.batchTimer ??= setTimeout(() => {
      queue.batchTimer = undefined
      pump(queue)
    }, leftMs)
    return true
  }

  function stopGathering(queue: ReceiverQueue): void {
    clearTimeout(queue.batchTimer)
    queue.batchTimer = undefined
    queue.batchDueMs = undefined
  }

  async function claim(queue: ReceiverQueue, limit: number): Promise<void> {
    if (queue.claiming) return
    queue.claiming = true
    queue.hungry = false
    try {
      const nowMs = clock.now()
      const jobs = await store.claim({
        subscriptionId: queue.id,
        limit,
        nowMs,
        leaseUntilMs: nowMs + leaseMs,
      })
      if (closed || !queues.has(queue.id)) settlement.giveBack(jobs, clock.now())
      else queue.buffer.push(...jobs)
      if (jobs.length === limit) queue.hungry = true
    } catch (err) {
      if (!closed) log.error({ err }, 'jobs could not be claimed')
    } finally {
      queue.claiming = false
    }
    pump(queue)
  }

  async function run(queue: ReceiverQueue, jobs: readonly Job[]): Promise<void> {
    const thisTry: Try = { queue, beganAtMs: clock.now(), slow: queue.slow, old: false }
    queue.inFlight++
    tries.add(thisTry)
    if (thisTry.slow) slowInFlight++
    else quickInFlight++
    try {
      await tryJobs(queue, jobs)
    } catch (err) {
      queue.breaker.release()
      log.error({ err, subscription: queue.id }, 'a delivery failed on our side')
    }
    queue.inFlight--
    tries.delete(thisTry)
    if (thisTry.slow) slowInFlight--
    else if (!thisTry.old) quickInFlight--
    pumpStarved()
    pump(queue)
  }

  function pumpStarved(): void {
    const waiting = [...starved]
    starved.clear()
    for (const queue of waiting) pump(queue)
  }

  /** A try that gets old says that its receiver is slow, long before its time is over. */
  function noteOldTries(): void {
    const beforeMs = clock.now() - SLOW_ANSWER_MS
    for (const one of tries) {
      if (one.beganAtMs > beforeMs) break
      if (one.slow || one.old) continue
      one.old = true
      one.queue.slow = true
      quickInFlight--
    }
    pumpStarved()
  }

  async function tryJobs(queue: ReceiverQueue, taken: readonly Job[]): Promise<void> {
    const nowMs = clock.now()
    if (taken.some((job) => job.claimedUntilMs - nowMs < leastLeaseMs)) {
      queue.breaker.release()
      queue.hungry = true
      settlement.giveBack(taken, nowMs)
      return
    }
    const { subscription } = queue
    const reserved = await credits.reserve(subscription, taken.length)
    if (!reserved.ok) {
      queue.breaker.release()
      if (isKeyEnd(reserved.reason)) end(queue, reserved.reason, taken)
      else pause(queue, reserved.reason, taken)
      return
    }
    queue.pauseReason = undefined
    const jobs = taken.slice(0, reserved.count)
    if (jobs.length < taken.length) pause(queue, 'credits_exhausted', taken.slice(reserved.count))
    const attempt = await attemptJobs(queue, jobs, reserved)
    if (attempt.delivered) await reserved.charge(jobs.map((job) => job.id))
    else reserved.release()
    // A try that was cut short by our own end says nothing about the receiver.
    if (cut && !attempt.delivered) settlement.giveBack(jobs, clock.now())
    else note(queue, jobs, attempt)
  }

  function targetOf(queue: ReceiverQueue): Target {
    const { subscription, target } = queue
    const nowMs = clock.now()
    if (target !== undefined && target.of === subscription && nowMs < target.validUntilMs) return target
    const { previousUntilMs } = subscription
    const fresh = {
      of: subscription,
      validUntilMs:
        previousUntilMs !== null && previousUntilMs > nowMs ? previousUntilMs : Number.POSITIVE_INFINITY,
      url: guard.checkForm(subscription.url),
      signer: signerOf(subscription, box, nowMs),
    }
    queue.target = fresh
    return fresh
  }

  async function attemptJobs(
    queue: ReceiverQueue,
    jobs: readonly Job[],
    reserved: Reservation,
  ): Promise<DeliveryAttempt> {
    const { subscription } = queue
    try {
      return await deliver({ poster, clock }, targetOf(queue), deliveryBody(jobs, subscription.batch))
    } catch (error) {
      reserved.release()
      const atMs = clock.now()
      const message = error instanceof Error ? error.message : String(error)
      return {
        delivered: false,
        status: null,
        error: message,
        retryAfterMs: undefined,
        atMs,
        durationMs: 0,
        requestHead: null,
        responseHead: null,
        response: null,
      }
    }
  }

  function pause(queue: ReceiverQueue, reason: DeliveryPauseReason, jobs: readonly Job[]): void {
    const nowMs = clock.now()
    queue.pauseReason = reason
    queue.pausedUntilMs = nowMs + PAUSE_MS
    queue.hungry = true
    settlement.giveBack([...jobs, ...queue.buffer.splice(0)], nowMs)
  }

  /** The key that stands for the webhook has ended, and so does the webhook. */
  function end(queue: ReceiverQueue, reason: EndReason, jobs: readonly Job[]): void {
    settlement.giveBack([...jobs, ...queue.buffer.splice(0)], clock.now())
    queue.subscription = { ...queue.subscription, active: false }
    deps.onKeyEnd(queue.id, reason)
  }

  function note(queue: ReceiverQueue, jobs: readonly Job[], attempt: DeliveryAttempt): void {
    const { atMs, status, durationMs, delivered } = attempt
    queue.slow = durationMs >= SLOW_ANSWER_MS
    if (delivered) {
      queue.breaker.success()
      queue.failingSinceMs = null
      const state = { subscriptionId: queue.id, ok: true, atMs, disable: null }
      settlement.add(
        jobs.map((job) => ({ kind: 'delivered', ...triedOf(job, attempt) })),
        state,
      )
    } else {
      queue.breaker.failure()
      queue.failingSinceMs ??= atMs
      const disable = disableReason({ status, atMs }, queue.failingSinceMs)
      const state = { subscriptionId: queue.id, ok: false, atMs, disable: disable ?? null }
      // What was sent together is tried again together.
      const jitter = Math.random()
      settlement.add(
        jobs.map((job) => failureOf(job, attempt, jitter)),
        state,
      )
      if (disable !== undefined) switchOff(queue)
    }
  }

  /** What waits when a subscription is switched off goes on when it is switched on again. */
  function failureOf(job: Job, attempt: DeliveryAttempt, jitter: number): JobOutcome {
    const delayMs = retryDelayMs(job.failures + 1, attempt.retryAfterMs, () => jitter, deps.retryDelaysMs)
    return delayMs === undefined
      ? { kind: 'failed', ...triedOf(job, attempt) }
      : { kind: 'retry', dueAtMs: attempt.atMs + delayMs, ...triedOf(job, attempt) }
  }

  function switchOff(queue: ReceiverQueue): void {
    queue.subscription = { ...queue.subscription, active: false }
    settlement.giveBack(queue.buffer.splice(0), clock.now())
    void settlement.written().then(() => deps.onDisabled(queue.id))
  }

  async function idle(limitMs: number): Promise<void> {
    const endsAt = performance.now() + limitMs
    while (tries.size > 0 && performance.now() < endsAt) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  const wake = (subscriptionIds: Iterable<string>) => {
    for (const id of subscriptionIds) {
      const queue = queues.get(id)
      if (queue === undefined) continue
      queue.hungry = true
      pump(queue)
    }
  }

  async function poll(): Promise<void> {
    const nowMs = clock.now()
    const waiting = await store.waiting()
    wake(waiting.filter(({ dueAtMs }) => dueAtMs <= nowMs).map(({ subscriptionId }) => subscriptionId))
    // A queue whose breaker was open holds a buffer that nobody else would look at.
    for (const queue of queues.values()) if (queue.buffer.length > 0) pump(queue)
  }
  const timer = setInterval(() => {
    poll().catch((err) => {
      if (!closed) log.error({ err }, 'waiting jobs could not be read')
    })
  }, POLL_MS)

  const ageTimer = setInterval(noteOldTries, AGE_CHECK_MS)

  return {
    wake,
    refresh(subscriptions) {
      for (const [id, queue] of queues) {
        if (subscriptions.has(id)) continue
        queues.delete(id)
        starved.delete(queue)
        stopGathering(queue)
      }
      for (const [id, subscription] of subscriptions) {
        const queue = queues.get(id)
        if (queue === undefined) queues.set(id, createReceiverQueue(subscription, clock))
        else {
          if (subscription.active && !queue.subscription.active) queue.hungry = true
          queue.subscription = subscription
          queue.failingSinceMs = subscription.failingSinceMs
          pump(queue)
        }
      }
    },
    pauseOf: (id) => queues.get(id)?.pauseReason,
    async close() {
      closed = true
      clearInterval(timer)
      clearInterval(ageTimer)
      for (const queue of queues.values()) {
        stopGathering(queue)
        settlement.giveBack(queue.buffer.splice(0), clock.now())
      }
      await idle(CLOSE_LIMIT_MS)
      cut = true
      poster.close()
      await idle(CLOSE_LIMIT_MS)
      await settlement.written()
    },
  }
}

/** What the store keeps of a try. */
function triedOf(job: Job, attempt: DeliveryAttempt): JobAttempt {
  const { atMs, status, error, durationMs, requestHead, responseHead, response } = attempt
  return { job: jobRef(job), atMs, status, error, durationMs, requestHead, responseHead, response }
}
