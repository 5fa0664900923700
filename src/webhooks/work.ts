import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { SecretBox } from '../kit/secret-box.ts'
import type { Job, JobsStore, Outcome, SubscriptionRecord, Tried } from '../store/jobs.ts'
import type { Credits, EndReason, PauseReason, Reservation } from './credits.ts'
import { type Attempt, BATCH_EVENTS, deliver, parcelOf, signerOf } from './deliver.ts'
import { disableReason, isKeyEnd } from './disable.ts'
import type { Guard } from './guard.ts'
import { claimNow, createLane, type Lane, SLOW_ANSWER_MS, slotsOf, type Target } from './lane.ts'
import type { Poster } from './post.ts'
import { retryDelayMs } from './schedule.ts'
import { createSettlement, refOf } from './settlement.ts'

/**
 * Brings jobs to their receivers.
 *
 *   wake(subscription) ─▶ lane: claim (leased) ─▶ credits set aside ─▶ POST ─▶ charge ─▶ settle (in groups)
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
  pauseOf(subscriptionId: string): PauseReason | undefined
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
  readonly lane: Lane
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
  const lanes = new Map<string, Lane>()
  const starved = new Set<Lane>()
  /** Oldest first. */
  const tries = new Set<Try>()
  let quickInFlight = 0
  let slowInFlight = 0
  let closed = false
  let cut = false
  const settlement = createSettlement({ store, log })

  function hasRoom(lane: Lane): boolean {
    const crowded = quickInFlight >= CROWDED_IN_FLIGHT
    if (lane.inFlight >= slotsOf(lane, crowded)) {
      if (lane.inFlight < slotsOf(lane, false)) starved.add(lane)
      return false
    }
    const ownRoom = lane.slow ? slowInFlight < MAX_SLOW_IN_FLIGHT : quickInFlight < MAX_QUICK_IN_FLIGHT
    // The first slot is everybody's: it shows whether a receiver is slow.
    if ((ownRoom || lane.inFlight === 0) && tries.size < MAX_IN_FLIGHT) return true
    starved.add(lane)
    return false
  }

  function pump(lane: Lane): void {
    if (closed || !lane.subscription.active || clock.now() < lane.pausedUntilMs) return
    while (hasRoom(lane)) {
      if (lane.buffer.length === 0 || isGathering(lane)) break
      if (!lane.breaker.tryEnter()) break
      const take = lane.subscription.batch ? BATCH_EVENTS : 1
      void run(lane, lane.buffer.splice(0, take))
    }
    const wanted = claimNow(lane)
    if (lane.hungry && wanted > 0 && lane.breaker.state() !== 'open') void claim(lane, wanted)
  }

  /** A batch that is not full is held back until its first event has waited long enough. */
  function isGathering(lane: Lane): boolean {
    const { subscription, buffer } = lane
    if (!subscription.batch || buffer.length >= BATCH_EVENTS) {
      stopGathering(lane)
      return false
    }
    const nowMs = clock.now()
    lane.batchDueMs ??= nowMs + BATCH_WAIT_MS
    const leftMs = lane.batchDueMs - nowMs
    // A clock that was set back would hold them for as long.
    if (leftMs <= 0 || leftMs > BATCH_WAIT_MS) {
      stopGathering(lane)
      return false
    }
    lane.batchTimer ??= setTimeout(() => {
      lane.batchTimer = undefined
      pump(lane)
    }, leftMs)
    return true
  }

  function stopGathering(lane: Lane): void {
    clearTimeout(lane.batchTimer)
    lane.batchTimer = undefined
    lane.batchDueMs = undefined
  }

  async function claim(lane: Lane, limit: number): Promise<void> {
    if (lane.claiming) return
    lane.claiming = true
    lane.hungry = false
    try {
      const nowMs = clock.now()
      const jobs = await store.claim({
        subscriptionId: lane.id,
        limit,
        nowMs,
        leaseUntilMs: nowMs + leaseMs,
      })
      if (closed || !lanes.has(lane.id)) settlement.giveBack(jobs, clock.now())
      else lane.buffer.push(...jobs)
      if (jobs.length === limit) lane.hungry = true
    } catch (err) {
      if (!closed) log.error({ err }, 'jobs could not be claimed')
    } finally {
      lane.claiming = false
    }
    pump(lane)
  }

  async function run(lane: Lane, jobs: readonly Job[]): Promise<void> {
    const thisTry: Try = { lane, beganAtMs: clock.now(), slow: lane.slow, old: false }
    lane.inFlight++
    tries.add(thisTry)
    if (thisTry.slow) slowInFlight++
    else quickInFlight++
    try {
      await tryJobs(lane, jobs)
    } catch (err) {
      lane.breaker.release()
      log.error({ err, subscription: lane.id }, 'a delivery failed on our side')
    }
    lane.inFlight--
    tries.delete(thisTry)
    if (thisTry.slow) slowInFlight--
    else if (!thisTry.old) quickInFlight--
    pumpStarved()
    pump(lane)
  }

  function pumpStarved(): void {
    const waiting = [...starved]
    starved.clear()
    for (const lane of waiting) pump(lane)
  }

  /** A try that gets old says that its receiver is slow, long before its time is over. */
  function noteOldTries(): void {
    const beforeMs = clock.now() - SLOW_ANSWER_MS
    for (const one of tries) {
      if (one.beganAtMs > beforeMs) break
      if (one.slow || one.old) continue
      one.old = true
      one.lane.slow = true
      quickInFlight--
    }
    pumpStarved()
  }

  async function tryJobs(lane: Lane, taken: readonly Job[]): Promise<void> {
    const nowMs = clock.now()
    if (taken.some((job) => job.leaseMs - nowMs < leastLeaseMs)) {
      lane.breaker.release()
      lane.hungry = true
      settlement.giveBack(taken, nowMs)
      return
    }
    const { subscription } = lane
    const reserved = await credits.reserve(subscription, taken.length)
    if (!reserved.ok) {
      lane.breaker.release()
      if (isKeyEnd(reserved.reason)) end(lane, reserved.reason, taken)
      else pause(lane, reserved.reason, taken)
      return
    }
    lane.pauseReason = undefined
    const jobs = taken.slice(0, reserved.count)
    if (jobs.length < taken.length) pause(lane, 'credits_exhausted', taken.slice(reserved.count))
    const attempt = await attemptJobs(lane, jobs, reserved)
    if (attempt.delivered) await reserved.charge(jobs.map((job) => job.id))
    else reserved.release()
    // A try that was cut short by our own end says nothing about the receiver.
    if (cut && !attempt.delivered) settlement.giveBack(jobs, clock.now())
    else note(lane, jobs, attempt)
  }

  function targetOf(lane: Lane): Target {
    const { subscription, target } = lane
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
    lane.target = fresh
    return fresh
  }

  async function attemptJobs(lane: Lane, jobs: readonly Job[], reserved: Reservation): Promise<Attempt> {
    const { subscription } = lane
    try {
      return await deliver({ poster, clock }, targetOf(lane), parcelOf(jobs, subscription.batch))
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

  function pause(lane: Lane, reason: PauseReason, jobs: readonly Job[]): void {
    const nowMs = clock.now()
    lane.pauseReason = reason
    lane.pausedUntilMs = nowMs + PAUSE_MS
    lane.hungry = true
    settlement.giveBack([...jobs, ...lane.buffer.splice(0)], nowMs)
  }

  /** The key that stands for the webhook has ended, and so does the webhook. */
  function end(lane: Lane, reason: EndReason, jobs: readonly Job[]): void {
    settlement.giveBack([...jobs, ...lane.buffer.splice(0)], clock.now())
    lane.subscription = { ...lane.subscription, active: false }
    deps.onKeyEnd(lane.id, reason)
  }

  function note(lane: Lane, jobs: readonly Job[], attempt: Attempt): void {
    const { atMs, status, durationMs, delivered } = attempt
    lane.slow = durationMs >= SLOW_ANSWER_MS
    if (delivered) {
      lane.breaker.success()
      lane.failingSinceMs = null
      const state = { subscriptionId: lane.id, ok: true, atMs, disable: null }
      settlement.add(
        jobs.map((job) => ({ kind: 'delivered', ...triedOf(job, attempt) })),
        state,
      )
    } else {
      lane.breaker.failure()
      lane.failingSinceMs ??= atMs
      const disable = disableReason({ status, atMs }, lane.failingSinceMs)
      const state = { subscriptionId: lane.id, ok: false, atMs, disable: disable ?? null }
      // What was sent together is tried again together.
      const jitter = Math.random()
      settlement.add(
        jobs.map((job) => failureOf(job, attempt, jitter)),
        state,
      )
      if (disable !== undefined) switchOff(lane)
    }
  }

  /** What waits when a subscription is switched off goes on when it is switched on again. */
  function failureOf(job: Job, attempt: Attempt, jitter: number): Outcome {
    const delayMs = retryDelayMs(job.failures + 1, attempt.retryAfterMs, () => jitter, deps.retryDelaysMs)
    return delayMs === undefined
      ? { kind: 'failed', ...triedOf(job, attempt) }
      : { kind: 'retry', dueAtMs: attempt.atMs + delayMs, ...triedOf(job, attempt) }
  }

  function switchOff(lane: Lane): void {
    lane.subscription = { ...lane.subscription, active: false }
    settlement.giveBack(lane.buffer.splice(0), clock.now())
    void settlement.written().then(() => deps.onDisabled(lane.id))
  }

  async function idle(limitMs: number): Promise<void> {
    const endsAt = performance.now() + limitMs
    while (tries.size > 0 && performance.now() < endsAt) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  const wake = (subscriptionIds: Iterable<string>) => {
    for (const id of subscriptionIds) {
      const lane = lanes.get(id)
      if (lane === undefined) continue
      lane.hungry = true
      pump(lane)
    }
  }

  async function poll(): Promise<void> {
    const nowMs = clock.now()
    const waiting = await store.waiting()
    wake(waiting.filter(({ dueAtMs }) => dueAtMs <= nowMs).map(({ subscriptionId }) => subscriptionId))
    // A lane whose breaker was open holds a buffer that nobody else would look at.
    for (const lane of lanes.values()) if (lane.buffer.length > 0) pump(lane)
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
      for (const [id, lane] of lanes) {
        if (subscriptions.has(id)) continue
        lanes.delete(id)
        starved.delete(lane)
        stopGathering(lane)
      }
      for (const [id, subscription] of subscriptions) {
        const lane = lanes.get(id)
        if (lane === undefined) lanes.set(id, createLane(subscription, clock))
        else {
          if (subscription.active && !lane.subscription.active) lane.hungry = true
          lane.subscription = subscription
          lane.failingSinceMs = subscription.failingSinceMs
          pump(lane)
        }
      }
    },
    pauseOf: (id) => lanes.get(id)?.pauseReason,
    async close() {
      closed = true
      clearInterval(timer)
      clearInterval(ageTimer)
      for (const lane of lanes.values()) {
        stopGathering(lane)
        settlement.giveBack(lane.buffer.splice(0), clock.now())
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
function triedOf(job: Job, attempt: Attempt): Tried {
  const { atMs, status, error, durationMs, requestHead, responseHead, response } = attempt
  return { job: refOf(job), atMs, status, error, durationMs, requestHead, responseHead, response }
}
