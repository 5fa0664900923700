import { type Clock, elapsedMs, runAfter, runEvery } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { SecretBox } from '../kit/secret-box.ts'
import type { Job, JobsStore, SubscriptionRecord } from '../store/jobs.ts'
import type { Credits, DeliveryPauseReason, EndReason } from './credits.ts'
import { type DeliveryAttempt, deliver, deliveryBody, notSent, signerOf } from './deliver.ts'
import { disabling, isKeyEnd, pausedTooLong } from './disable.ts'
import type { Guard } from './guard.ts'
import { InFlight } from './in-flight.ts'
import { outcomesOf } from './outcomes.ts'
import type { Poster } from './poster.ts'
import {
  type BufferedJob,
  batchWaitMs,
  type ClaimRoom,
  claimNow,
  createReceiverQueue,
  type DeliveryTarget,
  type ReceiverQueue,
  SLOW_ANSWER_MS,
  stopBatchWait,
  takeNext,
  textBytes,
} from './receiver-queue.ts'
import { createOutcomeWriter, type OutcomeWriter } from './write-outcomes.ts'

export interface WorkerDeps {
  readonly store: JobsStore
  readonly credits: Credits
  readonly guard: Guard
  readonly poster: Poster
  readonly box: SecretBox
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  /** The service disabled a subscription. */
  readonly onDisabled: (subscriptionId: string) => void
  /** A subscription is to be disabled because its key has ended. */
  readonly onKeyEnd: (subscription: SubscriptionRecord, reason: EndReason) => void
  readonly retryDelaysMs?: readonly number[]
}

/** Longer than an attempt can take, and short enough that the jobs of a dead worker are available again within 30 s. */
export const CLAIM_MS = 25_000
/** An attempt is not started if its claim might expire before the attempt ends. */
const MIN_CLAIM_LEFT_MS = 0.64 * CLAIM_MS
export const POLL_MS = 1_000
const PAUSE_MS = 5_000
/** Used after a failure of the store prevented reserving credits. */
const STORE_PAUSE_MS = 1_000
const AGE_CHECK_MS = 250
const CLOSE_LIMIT_MS = 3_000
const CLOSE_CHECK_MS = 10

/**
 * Delivers jobs to their receivers.
 *
 *   wake(subscription) ─▶ queue: claim jobs ─▶ reserve credits ─▶ POST ─▶ charge ─▶ outcomes (written in groups)
 *        ▲                                       │                 │
 *        └── poll: expired claims, retries       └─ none left:     └─ failed: retry later, or permanent
 *                                                   pause, give back
 *
 * If anything dies on the way, the claims of its jobs expire and the jobs are claimed again.
 */
export class DeliveryWorker {
  readonly #deps: WorkerDeps
  readonly #queues = new Map<string, ReceiverQueue>()
  readonly #inFlight = new InFlight()
  readonly #writer: OutcomeWriter
  readonly #stopPolling: () => void
  /** Set while attempts are in flight. */
  #stopAgeCheck: (() => void) | undefined
  #isClosing = false
  #overdueMs = 0
  /** Attempts that fail from now on were cut short by our own shutdown. */
  #isCutShort = false

  constructor(deps: WorkerDeps) {
    this.#deps = deps
    const { clock, log } = deps
    this.#writer = createOutcomeWriter(deps)
    const poll = () =>
      this.#poll().catch((err) => {
        if (!this.#isClosing) log.error({ err }, 'pending jobs could not be read')
      })
    this.#stopPolling = runEvery(clock, POLL_MS, () => void poll())
  }

  /** These subscriptions have new jobs. */
  wake(subscriptionIds: Iterable<string>): void {
    for (const id of subscriptionIds) {
      const queue = this.#queues.get(id)
      if (queue === undefined) continue
      queue.hungry = true
      this.#pump(queue)
    }
  }

  /** Subscriptions were created, changed or deleted. */
  refresh(subscriptions: ReadonlyMap<string, SubscriptionRecord>): void {
    for (const [id, queue] of this.#queues) {
      if (subscriptions.has(id)) continue
      this.#queues.delete(id)
      this.#inFlight.forget(queue)
      stopBatchWait(queue)
      // Jobs that were claimed ahead are no longer sent; an attempt that ends now would otherwise continue with them.
      this.#stop(queue)
    }
    for (const [id, subscription] of subscriptions) {
      const queue = this.#queues.get(id)
      if (queue === undefined) {
        this.#queues.set(id, createReceiverQueue(subscription, this.#deps.clock))
        continue
      }
      if (subscription === queue.subscription) continue
      if (subscription.active && !queue.subscription.active) {
        queue.hungry = true
        queue.enabledAgain++
      }
      queue.subscription = subscription
      // Health is written without reading it back, so a record that was seen before is older than what the queue knows.
      if (subscription !== queue.record) queue.failingSinceMs = subscription.failingSinceMs
      queue.record = subscription
      this.#pump(queue)
    }
  }

  /**
   * How long the oldest overdue job has been waiting, as of the last poll. Jobs of failing receivers and of accounts
   * without credits do not count, because they wait for their owners.
   */
  get overdueMs(): number {
    return this.#overdueMs
  }

  /** Finishes the attempts in flight and gives the other jobs back. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#stopPolling()
    this.#stopAgeCheck?.()
    for (const queue of this.#queues.values()) {
      stopBatchWait(queue)
      this.#giveBack(queue)
    }
    await this.#untilIdle()
    this.#isCutShort = true
    this.#deps.poster.close()
    await this.#untilIdle()
    await this.#writer.written()
  }

  async #untilIdle(): Promise<void> {
    for (let waitedMs = 0; this.#inFlight.size > 0 && waitedMs < CLOSE_LIMIT_MS; waitedMs += CLOSE_CHECK_MS) {
      await this.#deps.clock.sleep(CLOSE_CHECK_MS)
    }
  }

  async #poll(): Promise<void> {
    const due = await this.#deps.store.due()
    this.wake(due.map(({ id }) => id))
    this.#overdueMs = Math.max(
      0,
      ...due.filter(({ id }) => this.#isDeliverable(id)).map(({ overdueMs }) => overdueMs),
    )
    // The buffer of a queue whose breaker was open would otherwise stay unprocessed.
    for (const queue of this.#queues.values()) if (queue.buffer.length > 0) this.#pump(queue)
  }

  #isDeliverable(id: string): boolean {
    const queue = this.#queues.get(id)
    if (queue === undefined) return false
    return queue.subscription.active && queue.pauseReason === undefined && queue.failingSinceMs === null
  }

  /** Starts as many attempts as there is room for, and claims more jobs if the buffer runs low. */
  #pump(queue: ReceiverQueue): void {
    const { clock } = this.#deps
    if (this.#isClosing || !queue.subscription.active || elapsedMs(clock) < queue.pausedUntilMs) return
    while (this.#inFlight.hasRoom(queue)) {
      if (queue.buffer.length === 0 || this.#isBatchWaiting(queue)) break
      if (!queue.breaker.tryEnter()) break
      void this.#run(queue, takeNext(queue))
    }
    const room = claimNow(queue)
    if (queue.hungry && room !== undefined && queue.breaker.state() !== 'open') void this.#claim(queue, room)
  }

  #watchAges(): void {
    const { clock } = this.#deps
    this.#stopAgeCheck ??= runAfter(clock, AGE_CHECK_MS, () => {
      this.#stopAgeCheck = undefined
      this.#inFlight.markOld(clock.now())
      this.#pumpStarved()
      if (this.#inFlight.size > 0) this.#watchAges()
    })
  }

  #pumpStarved(): void {
    for (const queue of this.#inFlight.takeStarved()) this.#pump(queue)
  }

  #isBatchWaiting(queue: ReceiverQueue): boolean {
    const { clock } = this.#deps
    const leftMs = batchWaitMs(queue, clock.now())
    if (leftMs === 0) {
      stopBatchWait(queue)
      return false
    }
    queue.cancelBatchTimer ??= runAfter(clock, leftMs, () => {
      queue.cancelBatchTimer = undefined
      this.#pump(queue)
    })
    return true
  }

  async #claim(queue: ReceiverQueue, room: ClaimRoom): Promise<void> {
    if (queue.claiming) return
    const { store, clock, log } = this.#deps
    queue.claiming = true
    queue.hungry = false
    try {
      // Measured on this process's clock from before the claim was sent, so that it never seems to last longer than it
      // does.
      const claimEndsMs = elapsedMs(clock) + CLAIM_MS
      const claimed = await store.claim({ subscriptionId: queue.id, ...room, claimMs: CLAIM_MS })
      const jobs = claimed.map((job) => ({ ...job, bytes: Buffer.byteLength(job.event.text), claimEndsMs }))
      if (this.#isClosing || !this.#queues.has(queue.id)) this.#writer.giveBack(jobs)
      else queue.buffer.push(...jobs)
      if (jobs.length === room.limit || textBytes(jobs) >= room.maxBytes) queue.hungry = true
    } catch (err) {
      if (!this.#isClosing) log.error({ err }, 'jobs could not be claimed')
    } finally {
      queue.claiming = false
    }
    this.#pump(queue)
  }

  async #run(queue: ReceiverQueue, jobs: readonly BufferedJob[]): Promise<void> {
    const active = this.#inFlight.start(queue, this.#deps.clock.now())
    this.#watchAges()
    try {
      await this.#tryJobs(queue, jobs)
    } catch (err) {
      queue.breaker.release()
      this.#deps.log.error({ err, subscription: queue.id }, 'a delivery failed on our side')
    }
    this.#inFlight.end(active)
    this.#pumpStarved()
    this.#pump(queue)
  }

  async #tryJobs(queue: ReceiverQueue, taken: readonly BufferedJob[]): Promise<void> {
    const { credits, clock } = this.#deps
    const isClaimShort = () => {
      const nowMs = elapsedMs(clock)
      return taken.some((job) => job.claimEndsMs - nowMs < MIN_CLAIM_LEFT_MS)
    }
    if (isClaimShort()) {
      queue.breaker.release()
      queue.hungry = true
      this.#writer.giveBack(taken)
      return
    }
    const { subscription } = queue
    const reserved = await credits.reserve(subscription, taken.length).catch((error: unknown) => {
      // Nothing was sent, so the jobs need not wait until their claim expires.
      queue.pausedUntilMs = elapsedMs(clock) + STORE_PAUSE_MS
      queue.hungry = true
      this.#writer.giveBack(taken)
      throw error
    })
    // The subscription was deleted, disabled or handed to another key meanwhile, so the reservation concerns its former
    // state. Or batches were switched on or off, and a body that is not a batch holds only one of the jobs. Or the store
    // was slow.
    const { active, keyId, batch } = queue.subscription
    if (!active || keyId !== subscription.keyId || batch !== subscription.batch || isClaimShort()) {
      if (reserved.ok) reserved.release()
      queue.breaker.release()
      queue.hungry = true
      this.#writer.giveBack(taken)
      return
    }
    if (!reserved.ok) {
      queue.breaker.release()
      if (isKeyEnd(reserved.reason)) this.#endWithKey(queue, reserved.reason, taken)
      else this.#pauseAll(queue, reserved.reason, taken)
      return
    }
    queue.pauseReason = undefined
    const jobs = taken.slice(0, reserved.count)
    if (jobs.length < taken.length) this.#pause(queue, 'credits_exhausted', taken.slice(reserved.count))
    const { enabledAgain } = queue
    const attempt = await this.#attempt(queue, jobs)
    if (attempt === undefined) {
      reserved.release()
      queue.breaker.release()
      this.#writer.giveBack(jobs)
      return
    }
    if (attempt.delivered) await reserved.charge(jobs.map((job) => job.id))
    else reserved.release()
    // An attempt that our own shutdown cut short is not a failure of the receiver.
    if (this.#isCutShort && !attempt.delivered) this.#writer.giveBack(jobs)
    else this.#record(queue, jobs, attempt, enabledAgain === queue.enabledAgain)
  }

  /** Undefined if nothing was sent, because the subscription was deleted or disabled while a connection was opened. */
  async #attempt(queue: ReceiverQueue, jobs: readonly Job[]): Promise<DeliveryAttempt | undefined> {
    const { poster, clock } = this.#deps
    let isWithdrawn = false
    const isWanted = () => {
      isWithdrawn ||= !queue.subscription.active
      return !isWithdrawn
    }
    try {
      const body = deliveryBody(jobs, queue.subscription.batch)
      const attempt = await deliver({ poster, clock }, this.#targetOf(queue), body, isWanted)
      return isWithdrawn ? undefined : attempt
    } catch (error) {
      return notSent(error, clock.now())
    }
  }

  #targetOf(queue: ReceiverQueue): DeliveryTarget {
    const { guard, box, clock } = this.#deps
    const { subscription, target } = queue
    const nowMs = clock.now()
    if (target !== undefined && target.of === subscription && nowMs < target.validUntilMs) return target
    const { previousUntilMs } = subscription
    const overlaps = previousUntilMs !== null && previousUntilMs > nowMs
    const fresh = {
      of: subscription,
      validUntilMs: overlaps ? previousUntilMs : Number.POSITIVE_INFINITY,
      url: guard.checkForm(subscription.url),
      signer: signerOf(subscription, box, nowMs),
    }
    queue.target = fresh
    return fresh
  }

  /** @param mayDisable false if its owner has enabled the subscription since the request was sent */
  #record(queue: ReceiverQueue, jobs: readonly Job[], attempt: DeliveryAttempt, mayDisable: boolean): void {
    queue.slow = attempt.durationMs >= SLOW_ANSWER_MS
    if (attempt.delivered) queue.breaker.success()
    else queue.breaker.failure()
    const before = { subscriptionId: queue.id, failingSinceMs: queue.failingSinceMs }
    const result = outcomesOf(jobs, attempt, before, this.#deps.random, this.#deps.retryDelaysMs)
    queue.failingSinceMs = result.failingSinceMs
    const disable = mayDisable ? result.disable : undefined
    this.#writer.add(result.outcomes, { ...result.health, ...disabling(disable, attempt.atMs) })
    if (disable !== undefined) this.#switchOff(queue)
  }

  /**
   * Nothing can be delivered for now. After as long without a success as a receiver may fail, the subscription is
   * disabled.
   */
  #pauseAll(queue: ReceiverQueue, reason: DeliveryPauseReason, jobs: readonly Job[]): void {
    const atMs = this.#deps.clock.now()
    queue.failingSinceMs ??= atMs
    const disable = pausedTooLong(atMs, queue.failingSinceMs)
    this.#writer.note({ subscriptionId: queue.id, ok: false, atMs, ...disabling(disable, atMs) })
    if (disable === undefined) this.#pause(queue, reason, jobs)
    else this.#switchOff(queue, jobs)
  }

  #switchOff(queue: ReceiverQueue, jobs: readonly Job[] = []): void {
    this.#stop(queue, jobs)
    void this.#writer.written().then(() => this.#deps.onDisabled(queue.id))
  }

  #pause(queue: ReceiverQueue, reason: DeliveryPauseReason, jobs: readonly Job[]): void {
    queue.pauseReason = reason
    queue.pausedUntilMs = elapsedMs(this.#deps.clock) + PAUSE_MS
    queue.hungry = true
    this.#giveBack(queue, jobs)
  }

  /** The key that pays for the webhook has ended, so the webhook ends too. */
  #endWithKey(queue: ReceiverQueue, reason: EndReason, jobs: readonly Job[]): void {
    this.#stop(queue, jobs)
    this.#deps.onKeyEnd(queue.subscription, reason)
  }

  #stop(queue: ReceiverQueue, jobs: readonly Job[] = []): void {
    queue.subscription = { ...queue.subscription, active: false }
    this.#giveBack(queue, jobs)
  }

  #giveBack(queue: ReceiverQueue, jobs: readonly Job[] = []): void {
    this.#writer.giveBack([...jobs, ...queue.buffer.splice(0)])
  }
}
