/**
 * The source of all randomness of the sandbox: the same (seed, stream, index) gives the same number on every machine
 * and after every restart, so nothing has to be stored to be sent again.
 */

/** 32 well-mixed bits. `stream` separates independent uses of one seed; integers only. */
export function hash32(seed: number, stream: number, index: number): number {
  let h = Math.imul(seed ^ 0x5bd1e995, 0x9e3779b1) ^ Math.imul(stream + 0x7f4a7c15, 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 15) ^ Math.imul(index | 0, 0xc2b2ae35), 0x27d4eb2f)
  h ^= h >>> 16
  h = Math.imul(h ^ (index | 0), 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** In [0, 1). */
export function unit(seed: number, stream: number, index: number): number {
  return hash32(seed, stream, index) / 4_294_967_296
}

/** In [-1, 1). */
export function signed(seed: number, stream: number, index: number): number {
  return hash32(seed, stream, index) / 2_147_483_648 - 1
}

/** Value noise: random at multiples of `period`, linear in between. Caches the current period. */
export function createSmoothReader(
  seed: number,
  stream: number,
  period: number,
): (position: number) => number {
  let cell = Number.NaN
  let left = 0
  let rise = 0
  return (position) => {
    const at = Math.floor(position / period)
    if (at !== cell) {
      cell = at
      left = signed(seed, stream, at)
      rise = signed(seed, stream, at + 1) - left
    }
    return left + rise * (position / period - at)
  }
}

/** A small generator for building tables once; not for random access by time. */
export function sequence(seed: number, stream: number): () => number {
  let index = 0
  return () => unit(seed, stream, index++)
}
