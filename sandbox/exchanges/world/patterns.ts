/**
 * Trade patterns: a small library of ten-second runs of trades, built once per market. A block of the tape is one
 * pattern shifted to the block's price and scaled in size. The sums of a pattern are known per second, so the candle of
 * any second costs a few multiplications and still equals its trades exactly.
 */
import { sequence } from './hash.ts'
import { BLOCK_MS } from './world-price.ts'

export const SECONDS_PER_BLOCK = BLOCK_MS / 1_000

export interface PatternLibrary {
  readonly count: number
  /** Aggregate trades and raw fills per block: the same in every pattern, so ids are a function of time. */
  readonly tradesPerBlock: number
  readonly fillsPerBlock: number
  // One entry per trade, patterns one after another.
  readonly atMs: Uint16Array
  /** Price in ticks above the second's bid; a buyer pays at least one tick more than a seller gets. */
  readonly offset: Int16Array
  readonly lots: Uint32Array
  readonly takerBuys: Uint8Array
  /** Raw fills before this trade within the block; one extra entry per pattern closes the last trade. */
  readonly fillsBefore: Uint32Array
  // One entry per second, ten per pattern.
  readonly firstTrade: Uint32Array
  readonly endTrade: Uint32Array
  /** The offset of a second's bid from the straight line through the block, in ticks; 0 in the first second. */
  readonly wiggle: Int32Array
  readonly sumLots: Float64Array
  readonly sumLotsOffset: Float64Array
  readonly sumBuyLots: Float64Array
  readonly sumBuyLotsOffset: Float64Array
  /**
   * Highest and lowest price of a second, in ticks relative to the straight line; extreme values if there is no trade.
   */
  readonly top: Float64Array
  readonly bottom: Float64Array
  /** One entry per pattern: the same sums over the whole block. */
  readonly block: BlockSums
}

/** Σ lots, Σ lots × second, Σ lots × (wiggle + offset), for all trades and for taker buys. */
interface BlockSums {
  readonly lots: Float64Array
  readonly lotsSecond: Float64Array
  readonly lotsShift: Float64Array
  readonly buyLots: Float64Array
  readonly buyLotsSecond: Float64Array
  readonly buyLotsShift: Float64Array
}

/** Many patterns if a block has few trades, few if it has many, so that the library stays small. */
const MAX_PATTERNS = 64
const MIN_PATTERNS = 4
const LIBRARY_TRADES = 120_000

export function buildPatterns(options: {
  seed: number
  stream: number
  tradesPerBlock: number
  /** Fills beyond one per trade, as a share of the trades. */
  extraFills: number
  meanLots: number
  /** Largest wiggle in ticks. */
  wiggleTicks: number
}): PatternLibrary {
  const { tradesPerBlock } = options
  const random = sequence(options.seed, options.stream)
  const count = Math.min(MAX_PATTERNS, Math.max(MIN_PATTERNS, Math.floor(LIBRARY_TRADES / tradesPerBlock)))
  const extra = Math.floor(tradesPerBlock * options.extraFills)
  const trades = count * tradesPerBlock
  const seconds = count * SECONDS_PER_BLOCK
  const library = {
    count,
    tradesPerBlock,
    fillsPerBlock: tradesPerBlock + extra,
    atMs: new Uint16Array(trades),
    offset: new Int16Array(trades),
    lots: new Uint32Array(trades),
    takerBuys: new Uint8Array(trades),
    fillsBefore: new Uint32Array(count * (tradesPerBlock + 1)),
    firstTrade: new Uint32Array(seconds),
    endTrade: new Uint32Array(seconds),
    wiggle: new Int32Array(seconds),
    sumLots: new Float64Array(seconds),
    sumLotsOffset: new Float64Array(seconds),
    sumBuyLots: new Float64Array(seconds),
    sumBuyLotsOffset: new Float64Array(seconds),
    top: new Float64Array(seconds),
    bottom: new Float64Array(seconds),
    block: {
      lots: new Float64Array(count),
      lotsSecond: new Float64Array(count),
      lotsShift: new Float64Array(count),
      buyLots: new Float64Array(count),
      buyLotsSecond: new Float64Array(count),
      buyLotsShift: new Float64Array(count),
    },
  }
  for (let pattern = 0; pattern < count; pattern++) {
    fillTrades(library, pattern, extra, options.meanLots, random)
    sumSeconds(library, pattern, options.wiggleTicks, random)
    sumBlock(library, pattern)
  }
  return library
}

function fillTrades(
  library: PatternLibrary,
  pattern: number,
  extra: number,
  meanLots: number,
  random: () => number,
): void {
  const { tradesPerBlock } = library
  const start = pattern * tradesPerBlock
  const times = Array.from({ length: tradesPerBlock }, () => Math.floor(random() * BLOCK_MS)).sort(
    (a, b) => a - b,
  )
  const fills = new Array<number>(tradesPerBlock).fill(1)
  for (let i = 0; i < extra; i++) {
    const at = Math.floor(random() * tradesPerBlock)
    fills[at] = (fills[at] as number) + 1
  }
  const buyShare = 0.35 + random() * 0.3
  let fillsSoFar = 0
  for (let i = 0; i < tradesPerBlock; i++) {
    const isBuy = random() < buyShare
    const through = random() < 0.8 ? 0 : Math.floor(random() ** 2 * 5)
    library.atMs[start + i] = times[i] as number
    library.takerBuys[start + i] = isBuy ? 1 : 0
    library.offset[start + i] = isBuy ? 1 + through : -through
    // Many small orders and few large ones: the mean of u^4 is a fifth. No trade is smaller than its fills.
    library.lots[start + i] = (fills[i] as number) + Math.floor(random() ** 4 * 5 * meanLots)
    library.fillsBefore[pattern * (tradesPerBlock + 1) + i] = fillsSoFar
    fillsSoFar += fills[i] as number
  }
  library.fillsBefore[pattern * (tradesPerBlock + 1) + tradesPerBlock] = fillsSoFar
}

function sumSeconds(
  library: PatternLibrary,
  pattern: number,
  wiggleTicks: number,
  random: () => number,
): void {
  const end = (pattern + 1) * library.tradesPerBlock
  let trade = pattern * library.tradesPerBlock
  for (let second = 0; second < SECONDS_PER_BLOCK; second++) {
    const slot = pattern * SECONDS_PER_BLOCK + second
    library.wiggle[slot] = second === 0 ? 0 : Math.round((random() * 2 - 1) * wiggleTicks)
    library.firstTrade[slot] = trade
    let max = Number.NEGATIVE_INFINITY
    let min = Number.POSITIVE_INFINITY
    while (trade < end && (library.atMs[trade] as number) < (second + 1) * 1_000) {
      const lots = library.lots[trade] as number
      const offset = library.offset[trade] as number
      library.sumLots[slot] = (library.sumLots[slot] as number) + lots
      library.sumLotsOffset[slot] = (library.sumLotsOffset[slot] as number) + lots * offset
      if (library.takerBuys[trade] === 1) {
        library.sumBuyLots[slot] = (library.sumBuyLots[slot] as number) + lots
        library.sumBuyLotsOffset[slot] = (library.sumBuyLotsOffset[slot] as number) + lots * offset
      }
      max = Math.max(max, offset)
      min = Math.min(min, offset)
      trade++
    }
    library.endTrade[slot] = trade
    library.top[slot] = (library.wiggle[slot] as number) + max
    library.bottom[slot] = (library.wiggle[slot] as number) + min
  }
}

function sumBlock(library: PatternLibrary, pattern: number): void {
  const { block } = library
  const add = (sums: Float64Array, value: number) => {
    sums[pattern] = (sums[pattern] as number) + value
  }
  for (let second = 0; second < SECONDS_PER_BLOCK; second++) {
    const slot = pattern * SECONDS_PER_BLOCK + second
    const wiggle = library.wiggle[slot] as number
    const lots = library.sumLots[slot] as number
    const buyLots = library.sumBuyLots[slot] as number
    add(block.lots, lots)
    add(block.lotsSecond, lots * second)
    add(block.lotsShift, lots * wiggle + (library.sumLotsOffset[slot] as number))
    add(block.buyLots, buyLots)
    add(block.buyLotsSecond, buyLots * second)
    add(block.buyLotsShift, buyLots * wiggle + (library.sumBuyLotsOffset[slot] as number))
  }
}
