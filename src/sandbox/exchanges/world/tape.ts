/**
 * The tape of one market: every trade since the genesis, as a pure function of seed, rate and time.
 *
 *   time ──▶ block of 10 s ──▶ pattern (by hash), size multiplier (by hash), bid of each second
 *                                  │
 *              trades of the block ┴ sums per second   (the same integers, so both always agree)
 */

import { premiumAt } from './basis.ts'
import { hash32 } from './hash.ts'
import type { Market } from './markets.ts'
import { buildPatterns, type PatternLibrary, SECONDS_PER_BLOCK } from './patterns.ts'
import { BLOCK_MS, createPathReader, typicalPrice } from './world-price.ts'

/** Nothing traded before this instant. */
export const GENESIS_MS = Date.UTC(2026, 0, 1)
const GENESIS_BLOCK = GENESIS_MS / BLOCK_MS
const FIRST_ID = 1_000_000
/** How far the bid strays from the price path within ten seconds, as a fraction of the price. */
const WIGGLE = 0.00004
const EXTRA_FILLS = { spot: 0.6, futures: 0.9, perp: 0 }

/** Prices in ticks, sizes in lots. */
export interface Trade {
  readonly id: number
  readonly firstFill: number
  readonly lastFill: number
  readonly timeMs: number
  readonly price: number
  readonly lots: number
  readonly takerBuys: boolean
}

/** Sums over a stretch of time; prices are 0 and meaningless while `trades` is 0. Quote = ticks × lots. */
export interface Sums {
  trades: number
  fills: number
  firstFill: number
  open: number
  high: number
  low: number
  close: number
  lots: number
  buyLots: number
  /** Exact as long as a stretch is at most a minute long; coarser sums are kept in `bigint` by the bars. */
  quote: number
  buyQuote: number
}

export interface Tape {
  readonly market: Market
  /** Ids are contiguous; this is the id of the first trade at or after an instant. */
  firstIdAt(timeMs: number): number
  /** Trades with from ≤ time < to, at most `limit`, oldest first. */
  between(fromMs: number, toMs: number, limit: number): Trade[]
  /** Trades from an id on that happened before an instant. */
  fromId(id: number, toMs: number, limit: number): Trade[]
  /** The best bid in ticks during the second that holds an instant; the best ask is one tick above. */
  bidAt(timeMs: number): number
  sum(fromMs: number, toMs: number): Sums
}

export const emptySums = (): Sums => ({
  trades: 0,
  fills: 0,
  firstFill: -1,
  open: 0,
  high: 0,
  low: 0,
  close: 0,
  lots: 0,
  buyLots: 0,
  quote: 0,
  buyQuote: 0,
})

export function createTape(options: { seed: number; market: Market; tradesPerSecond: number }): Tape {
  const { seed, market } = options
  const patterns = buildPatterns({
    seed,
    stream: market.stream + 10,
    tradesPerBlock: Math.max(1, Math.round(options.tradesPerSecond * SECONDS_PER_BLOCK)),
    extraFills: EXTRA_FILLS[market.venue],
    meanLots: market.meanLots,
    wiggleTicks: Math.max(1, Math.round(typicalPrice(market.symbol) * 10 ** market.priceDecimals * WIGGLE)),
  })
  const current = createBlockReader(seed, market, patterns)
  const perBlock = patterns.tradesPerBlock

  /** Index within the library of the first trade of a block at or after an instant. */
  function firstIndexAt(block: number, timeMs: number): number {
    const start = current.open(block).pattern * perBlock
    const wanted = timeMs - block * BLOCK_MS
    let low = start
    let high = start + perBlock
    while (low < high) {
      const middle = (low + high) >> 1
      if ((patterns.atMs[middle] as number) < wanted) low = middle + 1
      else high = middle
    }
    return low
  }

  function collect(fromBlock: number, fromIndex: number, toMs: number, limit: number): Trade[] {
    const found: Trade[] = []
    let index = fromIndex
    for (let block = fromBlock; block * BLOCK_MS < toMs && found.length < limit; block++) {
      const { pattern } = current.open(block)
      const end = (pattern + 1) * perBlock
      if (block !== fromBlock) index = pattern * perBlock
      for (; index < end && found.length < limit; index++) {
        if (block * BLOCK_MS + (patterns.atMs[index] as number) >= toMs) return found
        found.push(current.trade(index))
      }
    }
    return found
  }

  return {
    market,
    firstIdAt(timeMs) {
      const atMs = Math.max(timeMs, GENESIS_MS)
      const block = Math.floor(atMs / BLOCK_MS)
      const index = firstIndexAt(block, atMs) - current.open(block).pattern * perBlock
      return FIRST_ID + (block - GENESIS_BLOCK) * perBlock + index
    },
    between(fromMs, toMs, limit) {
      const atMs = Math.max(fromMs, GENESIS_MS)
      const block = Math.floor(atMs / BLOCK_MS)
      return collect(block, firstIndexAt(block, atMs), toMs, limit)
    },
    fromId(id, toMs, limit) {
      const position = Math.max(0, id - FIRST_ID)
      const block = GENESIS_BLOCK + Math.floor(position / perBlock)
      return collect(block, current.open(block).pattern * perBlock + (position % perBlock), toMs, limit)
    },
    bidAt(timeMs) {
      const block = Math.floor(timeMs / BLOCK_MS)
      return current.open(block).bid(Math.floor((timeMs - block * BLOCK_MS) / 1_000))
    },
    sum(fromMs, toMs) {
      const sums = emptySums()
      let atMs = Math.max(fromMs, GENESIS_MS)
      while (atMs < toMs) {
        const block = Math.floor(atMs / BLOCK_MS)
        current.open(block)
        const blockMs = block * BLOCK_MS
        const endMs = Math.min(toMs, blockMs + BLOCK_MS)
        if (atMs === blockMs && endMs === blockMs + BLOCK_MS) {
          current.addBlock(sums)
          atMs = endMs
        }
        while (atMs < endMs) {
          const second = Math.floor((atMs - blockMs) / 1_000)
          const secondEndMs = blockMs + (second + 1) * 1_000
          if (atMs === secondEndMs - 1_000 && secondEndMs <= endMs) current.addSecond(sums, second)
          else {
            for (const trade of collect(
              block,
              firstIndexAt(block, atMs),
              Math.min(secondEndMs, endMs),
              perBlock,
            ))
              addTrade(sums, trade)
          }
          atMs = Math.min(secondEndMs, endMs)
        }
      }
      return sums
    },
  }
}

function addTrade(sums: Sums, trade: Trade): void {
  const quote = trade.price * trade.lots
  if (sums.trades === 0) {
    sums.open = sums.high = sums.low = trade.price
    sums.firstFill = trade.firstFill
  }
  sums.high = Math.max(sums.high, trade.price)
  sums.low = Math.min(sums.low, trade.price)
  sums.close = trade.price
  sums.trades++
  sums.fills += trade.lastFill - trade.firstFill + 1
  sums.lots += trade.lots
  sums.quote += quote
  if (trade.takerBuys) {
    sums.buyLots += trade.lots
    sums.buyQuote += quote
  }
}

/** Holds the parameters of the block read last: walks in time order then compute each block once. */
function createBlockReader(seed: number, market: Market, patterns: PatternLibrary) {
  const perBlock = patterns.tradesPerBlock
  let block = Number.NaN
  let pattern = 0
  let multiplier = 1
  let startBid = 0
  let endBid = 0
  /** Ticks per second along the block. Whole, so that the block's sums stay closed-form. */
  let slope = 0

  const ticksPerUnit = 10 ** market.priceDecimals
  const price = createPathReader(seed, market.symbol)
  const bidAtStart = (at: number) => Math.floor(price(at) * (1 + premiumAt(seed, market, at)) * ticksPerUnit)

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
    /** All ten seconds at once. Only the extremes need a look at each second. */
    addBlock(sums: Sums): void {
      const { block: whole } = patterns
      const firstIndex = pattern * perBlock
      if (sums.trades === 0) {
        const second = Math.floor((patterns.atMs[firstIndex] as number) / 1_000)
        sums.open = bid(second) + (patterns.offset[firstIndex] as number)
        sums.high = sums.low = sums.open
        sums.firstFill = FIRST_ID + (block - GENESIS_BLOCK) * patterns.fillsPerBlock
      }
      let high = sums.high
      let low = sums.low
      for (let second = 0, slot = pattern * SECONDS_PER_BLOCK; second < SECONDS_PER_BLOCK; second++, slot++) {
        if (patterns.firstTrade[slot] === patterns.endTrade[slot]) continue
        const base = startBid + slope * second + (patterns.wiggle[slot] as number)
        const top = base + (patterns.maxOffset[slot] as number)
        const bottom = base + (patterns.minOffset[slot] as number)
        if (top > high) high = top
        if (bottom < low) low = bottom
      }
      sums.high = high
      sums.low = low
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
      const high = base + (patterns.maxOffset[slot] as number)
      const low = base + (patterns.minOffset[slot] as number)
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
