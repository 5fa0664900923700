/** Random cases that can be repeated: the seed is printed with the test, TAPELINE_SEED sets it. */
import type { TestContext } from 'node:test'

export interface SeededRandom {
  (): number
  /** A whole number from `from` to `to`, both included. */
  int(from: number, to: number): number
  pick<T>(items: readonly T[]): T
}

/** For tests that print it in their name. */
export function drawnSeed(): number {
  return Number(process.env.TAPELINE_SEED ?? Math.floor(Math.random() * 2 ** 32)) >>> 0
}

/** Uses a fixed seed, so that every run is the same unless TAPELINE_SEED is set. */
export function seededRandom(t: TestContext, usual?: number): SeededRandom {
  const seed = usual === undefined || process.env.TAPELINE_SEED !== undefined ? drawnSeed() : usual
  t.diagnostic(`TAPELINE_SEED=${seed}`)
  let state = seed
  /** mulberry32 */
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (from: number, to: number) => from + Math.floor(next() * (to - from + 1))
  return Object.assign(next, {
    int,
    pick<T>(items: readonly T[]): T {
      const item = items[int(0, items.length - 1)]
      if (item === undefined) throw new RangeError('nothing to pick from')
      return item
    },
  })
}
