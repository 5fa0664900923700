/**
 * The tape of one market: every trade since the genesis, as a pure function of seed, rate and time.
 *
 *   time ──▶ block of 10 s ──▶ pattern (by hash), size multiplier (by hash), bid of each second
 *                                  │
 *              trades of the block ┴ sums per second   (the same integers, so both always agree)
 */

import { createBlockReader, FIRST_ID, GENESIS_BLOCK } from './block-reader.ts'
import type { Market } from './markets.ts'
import { buildPatterns, SECONDS_PER_BLOCK } from './patterns.ts'
import { emptySums, GENESIS_MS, type Sums, type Trade } from './trade.ts'
import { BLOCK_MS, typicalPrice } from './world-price.ts'

/** How far the bid deviates from the price path within ten seconds, as a fraction of the price. */
const WIGGLE = 0.00004
const EXTRA_FILLS = { spot: 0.6, futures: 0.9, perp: 0 }

export type Tape = ReturnType<typeof createTape>

export function createTape(options: { seed: number; market: Market; tradesPerSecond: number }) {
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

  /** Index in the library of the first trade of a block at or after an instant. */
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
    /** Ids are contiguous; this is the id of the first trade at or after an instant. */
    firstIdAt(timeMs: number) {
      const atMs = Math.max(timeMs, GENESIS_MS)
      const block = Math.floor(atMs / BLOCK_MS)
      const index = firstIndexAt(block, atMs) - current.open(block).pattern * perBlock
      return FIRST_ID + (block - GENESIS_BLOCK) * perBlock + index
    },
    /** Trades with from ≤ time < to, at most `limit`, oldest first. */
    between(fromMs: number, toMs: number, limit: number): Trade[] {
      const atMs = Math.max(fromMs, GENESIS_MS)
      const block = Math.floor(atMs / BLOCK_MS)
      return collect(block, firstIndexAt(block, atMs), toMs, limit)
    },
    /** Trades from an id on that happened before `toMs`. */
    fromId(id: number, toMs: number, limit: number): Trade[] {
      const position = Math.max(0, id - FIRST_ID)
      const block = GENESIS_BLOCK + Math.floor(position / perBlock)
      return collect(block, current.open(block).pattern * perBlock + (position % perBlock), toMs, limit)
    },
    /** The best bid in ticks during the second that contains an instant; the best ask is one tick above. */
    bidAt(timeMs: number) {
      const block = Math.floor(timeMs / BLOCK_MS)
      return current.open(block).bid(Math.floor((timeMs - block * BLOCK_MS) / 1_000))
    },
    sum(fromMs: number, toMs: number): Sums {
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
