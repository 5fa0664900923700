/**
 * Decides which times and numbers in a venue's messages are believed. A wrong time or number has the right shape, but
 * it does lasting damage: a trade dated tomorrow would prove that everything before it has arrived, a number far ahead
 * would turn all following ones into repeats, and a time in seconds would mean 50 years of samples to fill.
 *
 *   further ahead of our clock than clocks differ, or older than a venue sends ──▶ implausible
 *   older than the channel's newest by more than frames overtake each other    ──▶ implausible
 *   a number that the channel cannot have reached since the last one           ──▶ implausible
 *   a time or number far behind, and nothing else for half a minute            ──▶ the earlier value was wrong
 *
 * An implausible message becomes a dead letter and a gap, and proves nothing. Any other wrong time (some seconds back,
 * or an hour on a channel that was quiet) cannot be distinguished from a late message and is believed.
 */
import { INTERVAL_MS } from '../../core/interval.ts'
import type { DataObservation } from '../observation.ts'
import {
  MAX_AGE_MS,
  MAX_AHEAD_MS,
  MAX_LATE_MS,
  MAX_NUMBER_STEP,
  MAX_NUMBERS_PER_SECOND,
  MAX_OVERTAKEN_MS,
  SET_BACK_AFTER_MS,
} from '../plausible-bounds.ts'
import type { FrameOutcome, TimeCheck } from './frame.ts'

/** For readers with state: a message that fails this check must not change the state. */
export const isPlausibleTime: TimeCheck = (timeMs, receivedMs, isChange = false) =>
  timeMs >= receivedMs - (isChange ? MAX_LATE_MS : MAX_AGE_MS) && timeMs <= receivedMs + MAX_AHEAD_MS

const AS_IT_HAPPENS: ReadonlySet<DataObservation['kind']> = new Set([
  'aggregate_trade',
  'candle',
  'liquidation',
  'exchange_book',
  'best_bid_ask',
  'book_delta',
])

/** The answer to a request may be of any age, but not from the future. */
export function isPlausibleAnswer({ venueTimeMs, receivedMs }: DataObservation): boolean {
  return venueTimeMs <= receivedMs + MAX_AHEAD_MS
}

function isPlausible(observation: DataObservation): boolean {
  const { kind, venueTimeMs, receivedMs } = observation
  if (!isPlausibleTime(venueTimeMs, receivedMs)) return false
  if (!isInOrder(observation)) return true
  if (venueTimeMs < receivedMs - MAX_LATE_MS) return false
  if (kind !== 'candle') return true
  const { openTimeMs, interval } = observation
  const lengthMs = INTERVAL_MS[interval]
  return (
    openTimeMs % lengthMs === 0 &&
    openTimeMs <= receivedMs + MAX_AHEAD_MS &&
    openTimeMs >= receivedMs - MAX_LATE_MS - lengthMs
  )
}

/** Removes implausible items from a frame. */
export function withoutImplausible(outcome: FrameOutcome): FrameOutcome {
  if (outcome.kind !== 'data' || outcome.items.every((item) => isPlausible(item.observation))) return outcome
  const items = outcome.items.filter((item) => isPlausible(item.observation))
  if (items.length === 0) return { kind: 'refused', reason: 'implausible' }
  return { ...outcome, items, refused: outcome.refused ?? 'implausible' }
}

/** The newest time and number that one channel has sent. */
export class ChannelProgress {
  #newestMs = Number.NEGATIVE_INFINITY
  #newestReceivedMs = Number.NEGATIVE_INFINITY
  #number: number | undefined
  #numberReceivedMs = 0

  /** Whether the number can follow the last one. `restart`: the last one was wrong, and numbering starts again. */
  judgeNumber(observation: DataObservation): 'plausible' | 'implausible' | 'restart' {
    const number = numberOf(observation)
    if (number === undefined || this.#number === undefined) return 'plausible'
    const step = number - this.#number
    const sinceMs = Math.abs(observation.receivedMs - this.#numberReceivedMs)
    if (step >= -MAX_NUMBER_STEP)
      return step <= MAX_NUMBER_STEP + (MAX_NUMBERS_PER_SECOND * sinceMs) / 1_000
        ? 'plausible'
        : 'implausible'
    if (sinceMs <= SET_BACK_AFTER_MS) return 'implausible'
    this.#number = undefined
    return 'restart'
  }

  /** Whether the observation is late by no more than frames usually overtake each other. */
  isInTime(observation: DataObservation): boolean {
    if (!isInOrder(observation)) return true
    const { venueTimeMs, receivedMs } = observation
    if (venueTimeMs >= this.#newestMs - MAX_OVERTAKEN_MS) return true
    // A new subscriber gets the last trades in one frame; they may span a long time and come in any order.
    if (receivedMs === this.#newestReceivedMs) return true
    return this.#isOutdated(receivedMs)
  }

  take(observation: DataObservation): void {
    if (!isInOrder(observation)) return
    const { venueTimeMs, receivedMs } = observation
    if (venueTimeMs >= this.#newestMs || this.#isOutdated(receivedMs)) {
      this.#newestMs = venueTimeMs
      this.#newestReceivedMs = receivedMs
    }
    const number = numberOf(observation)
    if (number === undefined || number <= (this.#number ?? -1)) return
    this.#number = number
    this.#numberReceivedMs = receivedMs
  }

  #isOutdated(nowMs: number): boolean {
    return Math.abs(nowMs - this.#newestReceivedMs) > SET_BACK_AFTER_MS
  }
}

/** Whether the stream sends observations of this kind roughly in order of time. */
function isInOrder(observation: DataObservation): boolean {
  return observation.kind === 'trade' ? observation.isSwept !== true : AS_IT_HAPPENS.has(observation.kind)
}

/** The number of an observation whose kind the venue numbers without gaps. */
function numberOf(observation: DataObservation): number | undefined {
  return observation.kind === 'aggregate_trade' ? observation.id : undefined
}
