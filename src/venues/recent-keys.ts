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
