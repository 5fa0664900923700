/** Recognises data that arrived before: a replay on subscribe, the overlap of two sockets, the next poll. */

/**
 * Remembers at least the last `size` keys, in two generations, so that a repeat (a replay on subscribe, the
 * overlap of two sockets) is recognised in constant time and bounded memory.
 */
export interface RecentKeys<K> {
  /** Without remembering it. */
  has(key: K): boolean
  /** True the first time. */
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
 * Which numbers of a sequence have arrived already: all up to the highest, except for the gaps. As exact as
 * remembering each of them, at the cost of the gaps alone.
 */
export type SeenNumbers = ReturnType<typeof createSeenNumbers>

export function createSeenNumbers(maxGaps: number) {
  const gaps = new Set<number>()
  let highest: number | undefined
  return {
    /** Without remembering it. */
    has: (number: number) => highest !== undefined && number <= highest && !gaps.has(number),
    /** True the first time. */
    isNew(number: number) {
      if (highest === undefined || number === highest + 1) {
        highest = number
        return true
      }
      if (number <= highest) return gaps.delete(number)
      // Of a gap too wide to remember the newest numbers count; older ones come from the history, not from the stream.
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
