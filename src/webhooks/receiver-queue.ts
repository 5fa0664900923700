import { type Breaker, createBreaker } from '../kit/breaker.ts'
import type { Clock } from '../kit/clock.ts'
import type { Job, SubscriptionRecord } from '../store/jobs.ts'
import type { DeliveryPauseReason } from './credits.ts'
import { BATCH_EVENTS } from './deliver.ts'
import type { WebhookSigner } from './sign.ts'

/**
 * The way to one receiver. Every subscription has a queue of its own, with its own slots and its own breaker:
 * a receiver that is slow or dead fills its own queue and nobody else's.
 */
export interface ReceiverQueue {
  readonly id: string
  subscription: SubscriptionRecord
  /** Claimed and not yet tried. */
  buffer: Job[]
  inFlight: number
  claiming: boolean
  /** The store may have more that is due. */
  hungry: boolean
  /**
   * Slow receivers get fewer slots, so that many of them together cannot take all there are. Every receiver is
   * slow until it has answered quickly, and again as soon as one of its tries gets old.
   */
  slow: boolean
  pausedUntilMs: number
  pauseReason: DeliveryPauseReason | undefined
  failingSinceMs: number | null
  /** When the events that wait for a batch are sent, whether it is full or not; undefined while none waits. */
  batchDueMs: number | undefined
  batchTimer: NodeJS.Timeout | undefined
  /** The checked address and the signer, as long as neither can have changed. */
  target: Target | undefined
  readonly breaker: Breaker
}

export interface Target {
  readonly of: SubscriptionRecord
  readonly validUntilMs: number
  readonly url: URL
  readonly signer: WebhookSigner
}

const FAST_SLOTS = 16
/** Claimed ahead for receivers that answer quickly, so that none of them waits for the store. */
const FAST_AHEAD = 256
const SLOW_SLOTS = 2
export const SLOW_ANSWER_MS = 2_000
const BREAKER = { failures: 10, openMs: 5_000, maxOpenMs: 60_000 }

export function createReceiverQueue(subscription: SubscriptionRecord, clock: Clock): ReceiverQueue {
  return {
    id: subscription.id,
    subscription,
    buffer: [],
    inFlight: 0,
    claiming: false,
    hungry: false,
    slow: true,
    pausedUntilMs: 0,
    pauseReason: undefined,
    failingSinceMs: subscription.failingSinceMs,
    batchDueMs: undefined,
    batchTimer: undefined,
    target: undefined,
    breaker: createBreaker(BREAKER, clock),
  }
}

/** How many jobs are to be claimed now; 0 while those at hand are enough. */
export function claimNow(queue: ReceiverQueue): number {
  if (queue.subscription.batch) return Math.max(0, BATCH_EVENTS - queue.buffer.length)
  const wanted = claimSize(queue)
  return queue.buffer.length < wanted / 2 ? wanted : 0
}

/** When many tries are under way, those who wait for their first slots come before the others' next. */
export function slotsOf(queue: ReceiverQueue, crowded: boolean): number {
  if (queue.subscription.batch) return 1
  return queue.slow || crowded ? SLOW_SLOTS : FAST_SLOTS
}

/** How many jobs are claimed at a time. */
function claimSize(queue: ReceiverQueue): number {
  return queue.slow || queue.breaker.state() !== 'closed' ? SLOW_SLOTS : FAST_AHEAD
}
