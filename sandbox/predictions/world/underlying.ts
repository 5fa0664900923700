/** The spot price behind every question, in units of 10^-8 dollars, with the two readings that settle markets. */
import { type AssetSymbol, SYMBOLS } from '../../../src/core/symbol.ts'
import { Lru } from '../../../src/kit/lru.ts'
import { BLOCK_MS, createPathReader } from '../../exchanges/world/world-price.ts'

export type Underlying = ReturnType<typeof createUnderlying>

const CHUNK_BLOCKS = 360
const CHUNK_MS = CHUNK_BLOCKS * BLOCK_MS
const MAX_CHUNKS = 1_000
const E8 = 100_000_000

const SAMPLES = 1_000
const SAMPLE_BLOCKS = 30
const SAMPLE_START = Date.UTC(2026, 0, 1) / BLOCK_MS

export function createUnderlying(seed: number) {
  const readers = new Map(SYMBOLS.map((symbol) => [symbol, createReader(seed, symbol)]))
  const of = (symbol: AssetSymbol): Reader => {
    const reader = readers.get(symbol)
    if (reader === undefined) throw new RangeError(`unknown symbol ${symbol}`)
    return reader
  }
  const price = (symbol: AssetSymbol, timeMs: number) => of(symbol).price(timeMs)
  return {
    /** The world price of the sandbox exchanges. */
    price,
    /** The same in units of 10^-8. */
    priceE8: (symbol: AssetSymbol, timeMs: number) => Math.round(price(symbol, timeMs) * E8),
    /** Mean of the 60 one-second prices up to and including this second, in units of 10^-8. */
    mean60E8(symbol: AssetSymbol, timeMs: number) {
      const reader = of(symbol)
      const end = Math.floor(timeMs / 1_000) * 1_000
      let sum = 0
      for (let second = 59; second >= 0; second--) sum += reader.price(end - second * 1_000)
      return Math.round((sum / 60) * E8)
    },
    /** Typical relative move in one second; a move in t seconds is √t times as large. */
    sigma: (symbol: AssetSymbol) => of(symbol).sigma,
  }
}

interface Reader {
  price(timeMs: number): number
  readonly sigma: number
}

function createReader(seed: number, symbol: AssetSymbol): Reader {
  const read = createPathReader(seed, symbol)
  const chunks = new Lru<number, Float64Array>({ maxEntries: MAX_CHUNKS })
  let nearChunk = Number.NaN
  let near: Float64Array = new Float64Array(0)

  function load(chunk: number): Float64Array {
    const known = chunks.get(chunk)
    if (known !== undefined) return known
    // Filled lazily, because a search through months of rounds reads one price of each chunk.
    const made = new Float64Array(CHUNK_BLOCKS + 1).fill(Number.NaN)
    chunks.set(chunk, made)
    return made
  }

  /** The price of a block in the current chunk. */
  function at(block: number): number {
    const known = near[block] as number
    if (!Number.isNaN(known)) return known
    const made = read(nearChunk * CHUNK_BLOCKS + block)
    near[block] = made
    return made
  }

  let squares = 0
  for (let i = 0; i < SAMPLES; i++) {
    const from = read(SAMPLE_START + i * SAMPLE_BLOCKS)
    const move = read(SAMPLE_START + (i + 1) * SAMPLE_BLOCKS) / from - 1
    squares += move * move
  }
  return {
    sigma: Math.sqrt(squares / SAMPLES / ((SAMPLE_BLOCKS * BLOCK_MS) / 1_000)),
    price(timeMs) {
      const chunk = Math.floor(timeMs / CHUNK_MS)
      if (chunk !== nearChunk) {
        near = load(chunk)
        nearChunk = chunk
      }
      const inChunk = timeMs - chunk * CHUNK_MS
      const block = Math.floor(inChunk / BLOCK_MS)
      const from = at(block)
      const part = (inChunk - block * BLOCK_MS) / BLOCK_MS
      return part === 0 ? from : from + (at(block + 1) - from) * part
    },
  }
}
