/**
 * What a venue's message may say about time and numbers, and still be believed. A wrong time or number has the right
 * shape, but what is built on it is wrong for long: a trade of tomorrow proves that everything before it has come, a
 * number far ahead makes repeats of all that follow, and a time in seconds is 50 years of samples to fill.
 *
 *   further ahead of our clock than clocks differ, or older than a venue sends ──▶ implausible
 *   older than the channel's newest by more than frames overtake each other    ──▶ implausible
 *   a number that the channel cannot have reached since the last one           ──▶ implausible
 *   a time or number far behind, and nothing else for half a minute            ──▶ what came before was wrong
 *
 * Such a message becomes a dead letter and a gap, and proves nothing. A wrong time that is none of these (some seconds
 * back, or an hour on a channel that was quiet) cannot be told from a late message and is believed.
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

/** For readers with a state of their own: what fails here must not change it. */
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

/** What was requested may be of any age, but not of the future. */
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

/** The frame without what is implausible in it. */
export function withoutImplausible(outcome: FrameOutcome): FrameOutcome {
  if (outcome.kind !== 'data' || outcome.items.every((item) => isPlausible(item.observation))) return outcome
  const items = outcome.items.filter((item) => isPlausible(item.observation))
  if (items.length === 0) return { kind: 'refused', reason: 'implausible' }
  return { ...outcome, items, refused: outcome.refused ?? 'implausible' }
}

/** How far one channel has come. */
export class ChannelProgress {
  #newestMs = Number.NEGATIVE_INFINITY
  #newestReceivedMs = Number.NEGATIVE_INFINITY
  #number: number | undefined
  #numberReceivedMs = 0

  /** Whether its number can follow the last one; `restart`: the last one was wrong, and counting begins again. */
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

  /** Whether it was overtaken by no more than is usual. */
  isInTime(observation: DataObservation): boolean {
    if (!isInOrder(observation)) return true
    const { venueTimeMs, receivedMs } = observation
    if (venueTimeMs >= this.#newestMs - MAX_OVERTAKEN_MS) return true
    // The last trades, which a new subscriber gets in one frame, may be of a long time and in any order.
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

/** Whether the stream sends them in the order of their times, more or less. */
function isInOrder(observation: DataObservation): boolean {
  return observation.kind === 'trade' ? observation.isSwept !== true : AS_IT_HAPPENS.has(observation.kind)
}

/** The number of what a venue counts without gaps. */
function numberOf(observation: DataObservation): number | undefined {
  return observation.kind === 'aggregate_trade' ? observation.id : undefined
}
