/**
 * The price path that every simulated market follows: a fractal walk, random at 10-second points and linear in between,
 * readable at any instant without history.
 */
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import { signed } from './hash.ts'

/** The step of the price path and of the trade patterns. */
export const BLOCK_MS = 10_000

/** The level around which a price moves, and its typical move in a day. */
const PATHS: Record<AssetSymbol, { stream: number; level: number; dayMove: number }> = {
  BTC: { stream: 1_000, level: 84_000, dayMove: 0.022 },
  ETH: { stream: 2_000, level: 2_400, dayMove: 0.03 },
  SOL: { stream: 3_000, level: 140, dayMove: 0.038 },
  XRP: { stream: 4_000, level: 2.2, dayMove: 0.034 },
}

/**
 * Octave k has the period 4^k blocks: 10 s, 40 s, … 121 days. The spread of a walk grows with the square root of time.
 */
const OCTAVES = 11
const OCTAVE_SHARE = Array.from(
  { length: OCTAVES },
  (_, k) => 0.6 * Math.sqrt((4 ** k * BLOCK_MS) / 86_400_000),
)

/** The level around which the price of a symbol moves. */
export function typicalPrice(symbol: AssetSymbol): number {
  return PATHS[symbol].level
}

/**
 * Reads the price at the start of 10-second blocks. It caches the ends of the current octaves, so a walk in time order
 * costs a fraction of random access; the results are the same.
 */
export function createPathReader(seed: number, symbol: AssetSymbol): (block: number) => number {
  const { stream, level, dayMove } = PATHS[symbol]
  const cells = new Float64Array(OCTAVES).fill(Number.NaN)
  const lefts = new Float64Array(OCTAVES)
  const rises = new Float64Array(OCTAVES)
  return (block) => {
    let x = signed(seed, stream, block) * (OCTAVE_SHARE[0] as number)
    for (let k = 1; k < OCTAVES; k++) {
      const cell = block >> (2 * k)
      if (cells[k] !== cell) {
        const left = signed(seed, stream + k, cell)
        cells[k] = cell
        lefts[k] = left * (OCTAVE_SHARE[k] as number)
        rises[k] = ((signed(seed, stream + k, cell + 1) - left) * (OCTAVE_SHARE[k] as number)) / 4 ** k
      }
      x += (lefts[k] as number) + (rises[k] as number) * (block & ((1 << (2 * k)) - 1))
    }
    // (2+y)/(2-y) is e^y to second order, without leaving exact IEEE arithmetic.
    const y = x * dayMove
    return (level * (2 + y)) / (2 - y)
  }
}

/** The spot price of a symbol in US dollars at an instant, as a pure function. */
export function worldPrice(seed: number, symbol: AssetSymbol, timeMs: number): number {
  const block = Math.floor(timeMs / BLOCK_MS)
  const read = createPathReader(seed, symbol)
  const from = read(block)
  const part = (timeMs - block * BLOCK_MS) / BLOCK_MS
  return part === 0 ? from : from + (read(block + 1) - from) * part
}
