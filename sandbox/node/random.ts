/** Seeded randomness whose state can be saved: the same seed gives the same chain. */
export interface Random {
  /** In [0, 1). */
  next(): number
  /** An integer in [0, below). */
  below(below: number): number
  pick<T>(items: readonly T[]): T
  chance(probability: number): boolean
  u64(): bigint
  state(): number
}

/** mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    next,
    below,
    pick: (items) => {
      const item = items[below(items.length)]
      if (item === undefined) throw new RangeError('nothing to pick from')
      return item
    },
    chance: (probability) => next() < probability,
    u64: () => (BigInt(below(4294967296)) << 32n) | BigInt(below(4294967296)),
    state: () => state,
  }
}
