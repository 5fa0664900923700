/**
 * One block of ten seconds of a market. The pattern, size multiplier and bids come from hashes, and the block's trades
 * and sums from these. The reader keeps the last block, so a walk in time order computes each block once.
 */
import { createPremiumReader } from './basis.ts'
import { hash32 } from './hash.ts'
import type { Market } from './markets.ts'
import { type PatternLibrary, SECONDS_PER_BLOCK } from './patterns.ts'
import { GENESIS_MS, type Sums, type Trade } from './trade.ts'
import { BLOCK_MS, createPathReader } from './world-price.ts'

/** Trade and fill ids start here, at the genesis. */
export const FIRST_ID = 1_000_000
export const GENESIS_BLOCK = GENESIS_MS / BLOCK_MS

export function createBlockReader(seed: number, market: Market, patterns: PatternLibrary) {
  const perBlock = patterns.tradesPerBlock
  let block = Number.NaN
  let pattern = 0
  let multiplier = 1
  let startBid = 0
  let endBid = 0
  /** Ticks per second along the block. An integer, so that the block's sums stay closed-form. */
  let slope = 0

  const ticksPerUnit = 10 ** market.priceDecimals
  const price = createPathReader(seed, market.symbol)
  const premium = createPremiumReader(seed, market)
  const bidAtStart = (at: number) => Math.floor(price(at) * (1 + premium(at)) * ticksPerUnit)

  const bid = (second: number): number =>
    startBid + slope * second + (patterns.wiggle[pattern * SECONDS_PER_BLOCK + second] as number)

  const reader = {
    get pattern() {
      return pattern
    },
    bid,
    open(at: number) {
      if (at === block) return reader
      startBid = at === block + 1 ? endBid : bidAtStart(at)
      endBid = bidAtStart(at + 1)
      slope = Math.round((endBid - startBid) / SECONDS_PER_BLOCK)
      const random = hash32(seed, market.stream + 3, at)
      pattern = random % patterns.count
      multiplier = 1 + ((random >>> 16) % 4)
      block = at
      return reader
    },
    trade(index: number): Trade {
      const position = index - pattern * perBlock
      const fill = pattern * (perBlock + 1) + position
      const fillBase = FIRST_ID + (block - GENESIS_BLOCK) * patterns.fillsPerBlock
      const atMs = patterns.atMs[index] as number
      return {
        id: FIRST_ID + (block - GENESIS_BLOCK) * perBlock + position,
        firstFill: fillBase + (patterns.fillsBefore[fill] as number),
        lastFill: fillBase + (patterns.fillsBefore[fill + 1] as number) - 1,
        timeMs: block * BLOCK_MS + atMs,
        price: bid(Math.floor(atMs / 1_000)) + (patterns.offset[index] as number),
        lots: (patterns.lots[index] as number) * multiplier,
        takerBuys: patterns.takerBuys[index] === 1,
      }
    },
    /** Adds all ten seconds at once. Only the extremes need each second separately. */
    addBlock(sums: Sums): void {
      const { block: whole } = patterns
      const firstIndex = pattern * perBlock
      if (sums.trades === 0) {
        const second = Math.floor((patterns.atMs[firstIndex] as number) / 1_000)
        sums.open = bid(second) + (patterns.offset[firstIndex] as number)
        sums.high = sums.low = sums.open
        sums.firstFill = FIRST_ID + (block - GENESIS_BLOCK) * patterns.fillsPerBlock
      }
      let high = sums.high - startBid
      let low = sums.low - startBid
      const firstSlot = pattern * SECONDS_PER_BLOCK
      for (let second = 0; second < SECONDS_PER_BLOCK; second++) {
        const line = slope * second
        const top = line + (patterns.top[firstSlot + second] as number)
        const bottom = line + (patterns.bottom[firstSlot + second] as number)
        if (top > high) high = top
        if (bottom < low) low = bottom
      }
      sums.high = startBid + high
      sums.low = startBid + low
      const lastIndex = firstIndex + perBlock - 1
      const lastSecond = Math.floor((patterns.atMs[lastIndex] as number) / 1_000)
      sums.close = bid(lastSecond) + (patterns.offset[lastIndex] as number)
      sums.trades += perBlock
      sums.fills += patterns.fillsPerBlock
      const lots = whole.lots[pattern] as number
      const buyLots = whole.buyLots[pattern] as number
      const lotsSecond = whole.lotsSecond[pattern] as number
      const buyLotsSecond = whole.buyLotsSecond[pattern] as number
      sums.lots += lots * multiplier
      sums.buyLots += buyLots * multiplier
      sums.quote += (startBid * lots + slope * lotsSecond + (whole.lotsShift[pattern] as number)) * multiplier
      sums.buyQuote +=
        (startBid * buyLots + slope * buyLotsSecond + (whole.buyLotsShift[pattern] as number)) * multiplier
    },
    addSecond(sums: Sums, second: number): void {
      const slot = pattern * SECONDS_PER_BLOCK + second
      const first = patterns.firstTrade[slot] as number
      const end = patterns.endTrade[slot] as number
      if (first === end) return
      const base = bid(second)
      const fillSlot = pattern // one closing entry per earlier pattern
      const fillsBefore = patterns.fillsBefore[first + fillSlot] as number
      if (sums.trades === 0) {
        sums.open = base + (patterns.offset[first] as number)
        sums.high = sums.low = sums.open
        sums.firstFill = FIRST_ID + (block - GENESIS_BLOCK) * patterns.fillsPerBlock + fillsBefore
      }
      const high = startBid + slope * second + (patterns.top[slot] as number)
      const low = startBid + slope * second + (patterns.bottom[slot] as number)
      if (high > sums.high) sums.high = high
      if (low < sums.low) sums.low = low
      sums.close = base + (patterns.offset[end - 1] as number)
      sums.trades += end - first
      sums.fills += (patterns.fillsBefore[end + fillSlot] as number) - fillsBefore
      const lots = patterns.sumLots[slot] as number
      const buyLots = patterns.sumBuyLots[slot] as number
      sums.lots += lots * multiplier
      sums.buyLots += buyLots * multiplier
      sums.quote += (base * lots + (patterns.sumLotsOffset[slot] as number)) * multiplier
      sums.buyQuote += (base * buyLots + (patterns.sumBuyLotsOffset[slot] as number)) * multiplier
    },
  }
  return reader
}
