/** Seeded randomness whose state can be saved: the same seed gives the same chain. */
export type Random = ReturnType<typeof createRandom>

/** mulberry32. */
export function createRandom(seed: number) {
  let state = seed >>> 0
  /** In [0, 1). */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  /** An integer in [0, limit). */
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    next,
    below,
    pick: <T>(items: readonly T[]): T => {
      const item = items[below(items.length)]
      if (item === undefined) throw new RangeError('nothing to pick from')
      return item
    },
    chance: (probability: number) => next() < probability,
    u64: () => (BigInt(below(4294967296)) << 32n) | BigInt(below(4294967296)),
    state: () => state,
  }
}
