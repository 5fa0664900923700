import { type Breaker, createBreaker } from '../kit/breaker.ts'
import type { Clock } from '../kit/clock.ts'
import type { Job, SubscriptionRecord } from '../store/jobs.ts'
import type { DeliveryPauseReason } from './credits.ts'
import { BATCH_EVENTS } from './deliver.ts'
import type { WebhookSigner } from './sign.ts'

/** A claimed job, and the time (by `elapsedMs` of this process) until which the claim certainly holds. */
export interface BufferedJob extends Job {
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

/** How many jobs to claim now; 0 if the buffer holds enough. */
export function claimNow(queue: ReceiverQueue): number {
  if (queue.subscription.batch) return Math.max(0, BATCH_EVENTS - queue.buffer.length)
  const size = queue.slow || queue.breaker.state() !== 'closed' ? SLOW_SLOTS : FAST_AHEAD
  return queue.buffer.length < size / 2 ? size : 0
}

/** When many attempts are in flight, the first slots of waiting queues come before further slots of the others. */
export function slotsOf(queue: ReceiverQueue, isCrowded: boolean): number {
  if (queue.subscription.batch) return 1
  return queue.slow || isCrowded ? SLOW_SLOTS : FAST_SLOTS
}

/** How much longer an incomplete batch waits; 0 if the buffer is to be sent now. */
export function batchWaitMs(queue: ReceiverQueue, nowMs: number): number {
  const { subscription, buffer } = queue
  if (!subscription.batch || buffer.length >= BATCH_EVENTS) return 0
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
