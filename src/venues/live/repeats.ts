/** Recognises facts that came before: a replay on subscribe, the overlap of two sockets, the next poll. */

/**
 * Remembers at least the last `size` keys, in two generations, so that a repeat (a replay on subscribe, the
 * overlap of two sockets) is recognised in constant time and bounded memory.
 */
export interface RecentKeys<K> {
  /** True the first time. */
  isNew(key: K): boolean
}

export function createRecentKeys<K>(size: number): RecentKeys<K> {
  let young = new Set<K>()
  let old = new Set<K>()
  return {
    isNew(key) {
      if (young.has(key) || old.has(key)) return false
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
 * Which numbers of a row that grows by one were already brought: all up to the highest, but for the holes. As
 * exact as remembering each of them, at the cost of the holes alone.
 */
export interface SeenNumbers {
  /** True the first time. */
  isNew(number: number): boolean
}

export function createSeenNumbers(maxHoles: number): SeenNumbers {
  const holes = new Set<number>()
  let highest: number | undefined
  return {
    isNew(number) {
      if (highest === undefined || number === highest + 1) {
        highest = number
        return true
      }
      if (number <= highest) return holes.delete(number)
      // Of a hole too wide to remember the newest numbers count; older ones are asked for, not heard.
      for (let hole = Math.max(highest + 1, number - maxHoles); hole < number; hole++) holes.add(hole)
      for (const oldest of holes) {
        if (holes.size <= maxHoles) break
        holes.delete(oldest)
      }
      highest = number
      return true
    },
  }
}
