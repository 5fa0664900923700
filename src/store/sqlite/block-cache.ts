/**
 * What was read from blocks, in one bounded memory for all kinds of blocks: final candles as served bytes, blocks of
 * packed rows and unpacked blocks of books. What is read most takes most of it. Connections to one file share it.
 */
import { Lru } from '../../kit/lru.ts'

export interface BlockCache {
  /** The part of one kind of blocks. */
  part<V>(name: string, weigh: (value: V) => number): BlockCachePart<V>
}

interface BlockCachePart<V> {
  get(key: string | number): V | undefined
  set(key: string | number, value: V): void
}

/** Smaller blocks than this hardly exist, so this bounds their number. */
const MIN_BYTES = 1024

export function blockCache(maxBytes: number): BlockCache {
  const all = new Lru<string, { value: unknown; bytes: number }>({
    maxEntries: Math.max(1, maxBytes / MIN_BYTES),
    maxWeight: maxBytes,
    weigh: ({ bytes }) => bytes,
  })
  return {
    part<V>(name: string, weigh: (value: V) => number): BlockCachePart<V> {
      return {
        get: (key) => all.get(`${name} ${key}`)?.value as V | undefined,
        set: (key, value) => all.set(`${name} ${key}`, { value, bytes: weigh(value) }),
      }
    },
  }
}
