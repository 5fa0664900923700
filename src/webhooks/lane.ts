import { type Breaker, createBreaker } from '../kit/breaker.ts'
import type { Clock } from '../kit/clock.ts'
import type { Job, SubscriptionRecord } from '../store/jobs.ts'
import type { PauseReason } from './credits.ts'
import { BATCH_EVENTS } from './deliver.ts'
import type { Signer } from './sign.ts'

/**
 * The way to one receiver. Every subscription has a lane of its own, with its own slots and its own breaker:
 * a receiver that is slow or dead fills its own lane and nobody else's.
 */
export interface Lane {
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
  pauseReason: PauseReason | undefined
  failingSinceMs: number | null
  /** The checked address and the signer, as long as neither can have changed. */
  target: Target | undefined
  readonly breaker: Breaker
}

export interface Target {
  readonly of: SubscriptionRecord
  readonly validUntilMs: number
  readonly url: URL
  readonly signer: Signer
}

const FAST_SLOTS = 16
/** Claimed ahead for receivers that answer quickly, so that none of them waits for the store. */
const FAST_AHEAD = 256
const SLOW_SLOTS = 2
export const SLOW_ANSWER_MS = 2_000
const BREAKER = { failures: 10, openMs: 5_000, maxOpenMs: 60_000 }

export function createLane(subscription: SubscriptionRecord, clock: Clock): Lane {
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
    target: undefined,
    breaker: createBreaker(BREAKER, clock),
  }
}

/** When many tries are under way, those who wait for their first slots come before the others' next. */
export function slotsOf(lane: Lane, crowded: boolean): number {
  if (lane.subscription.batch) return 1
  return lane.slow || crowded ? SLOW_SLOTS : FAST_SLOTS
}

/** How many jobs are claimed at a time. */
export function claimSize(lane: Lane): number {
  if (lane.subscription.batch) return BATCH_EVENTS
  return lane.slow || lane.breaker.state() !== 'closed' ? SLOW_SLOTS : FAST_AHEAD
}
