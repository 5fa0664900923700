/**
 * Recognises data that has arrived before: resent after a subscription, by an overlapping socket or in the next poll.
 */
import type { FundingObservation } from '../observation.ts'

/**
 * Remembers at least the last `size` keys, in two generations, so that a repeat is recognised in constant time and
 * bounded memory.
 */
export interface RecentKeys<K> {
  /** Does not remember the key. */
  has(key: K): boolean
  /** True the first time; remembers the key. */
  isNew(key: K): boolean
}

export function createRecentKeys<K>(size: number): RecentKeys<K> {
  let young = new Set<K>()
  let old = new Set<K>()
  const has = (key: K) => young.has(key) || old.has(key)
  return {
    has,
    isNew(key) {
      if (has(key)) return false
      young.add(key)
      if (young.size >= size) {
        old = young
        young = new Set()
      }
      return true
    },
  }
}

/**
 * Which numbers of a sequence have arrived: all up to the highest, except for the gaps. This is as exact as remembering
 * every number, but needs memory only for the gaps.
 */
export type SeenNumbers = ReturnType<typeof createSeenNumbers>

export function createSeenNumbers(maxGaps: number) {
  const gaps = new Set<number>()
  let highest: number | undefined
  return {
    /** Does not remember the number. */
    has: (number: number) => highest !== undefined && number <= highest && !gaps.has(number),
    /** True the first time; remembers the number. */
    isNew(number: number) {
      if (highest === undefined || number === highest + 1) {
        highest = number
        return true
      }
      if (number <= highest) return gaps.delete(number)
      // Only the newest numbers of a very wide gap are remembered; older ones come from the history, not from the
      // stream.
      for (let gap = Math.max(highest + 1, number - maxGaps); gap < number; gap++) gaps.add(gap)
      for (const oldest of gaps) {
        if (gaps.size <= maxGaps) break
        gaps.delete(oldest)
      }
      highest = number
      return true
    },
  }
}

/** Each poll has the last few rates. */
const RATES_REMEMBERED = 64

/**
 * The funding rates that have arrived, each with the last time given for the next one. Until a later rate is there, that
 * time is an estimate, which may change and change back. Afterwards it is known, and only an outdated answer has another.
 */
export type SeenRates = ReturnType<typeof createSeenRates>

type Rate = Pick<FundingObservation, 'fundingTimeMs' | 'nextFundingTimeMs'>

export function createSeenRates() {
  const nextOf = new Map<number, number>()
  let newestMs = Number.NEGATIVE_INFINITY
  return {
    has({ fundingTimeMs, nextFundingTimeMs }: Rate): boolean {
      const knownMs = nextOf.get(fundingTimeMs)
      return knownMs !== undefined && (knownMs === nextFundingTimeMs || fundingTimeMs < newestMs)
    },
    add({ fundingTimeMs, nextFundingTimeMs }: Rate): void {
      nextOf.set(fundingTimeMs, nextFundingTimeMs)
      newestMs = Math.max(newestMs, fundingTimeMs)
      if (nextOf.size > RATES_REMEMBERED) nextOf.delete(Math.min(...nextOf.keys()))
    },
  }
}
