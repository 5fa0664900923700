/**
 * All randomness of a simulation comes from one seed. Every purpose has a separate stream, so that one draw more or
 * less in one place (a fault left out while a schedule is shortened) changes nothing elsewhere.
 */
export interface Random {
  /** From 0 to below 1. */
  (): number
  /** A whole number from `from` to `to`, both included. */
  int(from: number, to: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
  /** Picks an item with a probability proportional to its weight. */
  weighted<T extends { readonly weight: number }>(items: readonly T[]): T
  /** A separate stream for that purpose. */
  stream(purpose: string): Random
  bytes(count: number): Buffer
}

export function createRandom(seed: number, purpose = ''): Random {
  let state = mix(seed >>> 0, purpose)
  /** mulberry32 */
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (from: number, to: number) => from + Math.floor(next() * (to - from + 1))
  const pick = <T>(items: readonly T[]): T => {
    const item = items[int(0, items.length - 1)]
    if (item === undefined) throw new RangeError('nothing to pick from')
    return item
  }
  return Object.assign(next, {
    int,
    pick,
    chance: (probability: number) => next() < probability,
    weighted<T extends { readonly weight: number }>(items: readonly T[]): T {
      let left = next() * items.reduce((sum, { weight }) => sum + weight, 0)
      for (const item of items) {
        left -= item.weight
        if (left < 0) return item
      }
      return pick(items)
    },
    stream: (name: string) => createRandom(seed, `${purpose}/${name}`),
    bytes: (count: number) => Buffer.from(Array.from({ length: count }, () => int(0, 255))),
  })
}

/** FNV-1a of the purpose, over the seed. */
function mix(seed: number, purpose: string): number {
  let hash = (0x811c9dc5 ^ seed) | 0
  for (let index = 0; index < purpose.length; index++)
    hash = Math.imul(hash ^ purpose.charCodeAt(index), 0x01000193)
  return hash
}
