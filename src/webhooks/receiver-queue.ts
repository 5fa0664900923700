import { type Breaker, createBreaker } from '../kit/breaker.ts'
import type { Clock } from '../kit/clock.ts'
import type { Job, JobClaim, SubscriptionRecord } from '../store/jobs.ts'
import type { DeliveryPauseReason } from './credits.ts'
import { BATCH_BODY_BYTES, BATCH_EVENTS } from './deliver.ts'
import type { WebhookSigner } from './sign.ts'

/** A claimed job, and the time (by `elapsedMs` of this process) until which the claim certainly holds. */
export interface BufferedJob extends Job {
  /** Length of the event's text. */
  readonly bytes: number
  readonly claimEndsMs: number
}

/**
 * The deliveries of one subscription. Each has its own slots and its own breaker, so a slow or dead receiver fills only
 * its own queue.
 */
export interface ReceiverQueue {
  readonly id: string
  /** Equals `record`, but inactive if the worker has stopped the queue. */
  subscription: SubscriptionRecord
  /** The subscription as last read. */
  record: SubscriptionRecord
  /** Jobs that were claimed but not tried yet. */
  buffer: BufferedJob[]
  inFlight: number
  claiming: boolean
  /** The store may have more jobs that are due. */
  hungry: boolean
  /** How often it was enabled again. */
  enabledAgain: number
  /**
   * Slow receivers get fewer slots. Every receiver is slow until it has answered quickly, and again as soon as one of
   * its attempts becomes old.
   */
  slow: boolean
  /** By `elapsedMs`. */
  pausedUntilMs: number
  pauseReason: DeliveryPauseReason | undefined
  failingSinceMs: number | null
  /** When the events of an incomplete batch are sent; undefined while none are waiting. */
  batchDueMs: number | undefined
  cancelBatchTimer: (() => void) | undefined
  target: DeliveryTarget | undefined
  readonly breaker: Breaker
}

/** The checked URL and the signer, cached as long as neither can have changed. */
export interface DeliveryTarget {
  readonly of: SubscriptionRecord
  readonly validUntilMs: number
  readonly url: URL
  readonly signer: WebhookSigner
}

const FAST_SLOTS = 16
/** Jobs claimed ahead for receivers that answer quickly, so that they never wait for the store. */
const FAST_AHEAD = 256
const AHEAD_BYTES = 1024 * 1024
const SLOW_SLOTS = 2
export const SLOW_ANSWER_MS = 2_000
/** How long an event of a batch waits for more events. */
const BATCH_WAIT_MS = 200
const BREAKER = { failures: 10, openMs: 5_000, maxOpenMs: 60_000 }

export function createReceiverQueue(subscription: SubscriptionRecord, clock: Clock): ReceiverQueue {
  return {
    id: subscription.id,
    subscription,
    record: subscription,
    buffer: [],
    inFlight: 0,
    claiming: false,
    hungry: false,
    enabledAgain: 0,
    slow: true,
    pausedUntilMs: 0,
    pauseReason: undefined,
    failingSinceMs: subscription.failingSinceMs,
    batchDueMs: undefined,
    cancelBatchTimer: undefined,
    target: undefined,
    breaker: createBreaker(BREAKER, clock),
  }
}

export type ClaimRoom = Required<Pick<JobClaim, 'limit' | 'maxBytes'>>

/** How much to claim now; undefined if the buffer holds enough. */
export function claimNow(queue: ReceiverQueue): ClaimRoom | undefined {
  const { subscription, buffer } = queue
  const bytes = textBytes(buffer)
  if (subscription.batch) {
    if (isBatchFull(queue)) return undefined
    return { limit: BATCH_EVENTS - buffer.length, maxBytes: BATCH_BODY_BYTES - bytes }
  }
  const size = queue.slow || queue.breaker.state() !== 'closed' ? SLOW_SLOTS : FAST_AHEAD
  if (buffer.length >= size / 2 || bytes >= AHEAD_BYTES / 2) return undefined
  return { limit: size, maxBytes: AHEAD_BYTES - bytes }
}

/** Takes the jobs of the next delivery from the buffer. */
export function takeNext({ subscription, buffer }: ReceiverQueue): BufferedJob[] {
  let count = 0
  let bytes = 0
  for (const job of buffer.slice(0, subscription.batch ? BATCH_EVENTS : 1)) {
    bytes += job.bytes
    if (count > 0 && bytes > BATCH_BODY_BYTES) break
    count++
  }
  return buffer.splice(0, count)
}

function isBatchFull({ buffer }: ReceiverQueue): boolean {
  return buffer.length >= BATCH_EVENTS || textBytes(buffer) >= BATCH_BODY_BYTES
}

export function textBytes(jobs: readonly BufferedJob[]): number {
  return jobs.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** When many attempts are in flight, the first slots of waiting queues come before further slots of the others. */
export function slotsOf(queue: ReceiverQueue, isCrowded: boolean): number {
  if (queue.subscription.batch) return 1
  return queue.slow || isCrowded ? SLOW_SLOTS : FAST_SLOTS
}

/** How much longer an incomplete batch waits; 0 if the buffer is to be sent now. */
export function batchWaitMs(queue: ReceiverQueue, nowMs: number): number {
  if (!queue.subscription.batch || isBatchFull(queue)) return 0
  queue.batchDueMs ??= nowMs + BATCH_WAIT_MS
  const leftMs = queue.batchDueMs - nowMs
  // If the clock was set back, the batch must not wait that much longer.
  return leftMs > BATCH_WAIT_MS ? 0 : Math.max(0, leftMs)
}

export function stopBatchWait(queue: ReceiverQueue): void {
  queue.cancelBatchTimer?.()
  queue.cancelBatchTimer = undefined
  queue.batchDueMs = undefined
}
