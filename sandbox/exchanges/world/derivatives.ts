/** Mark and index price, funding, open interest and liquidations: pure functions of seed, market and time. */
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import { createPremiumReader } from './basis.ts'
import { createSmoothReader, hash32, unit } from './hash.ts'
import type { Market } from './markets.ts'
import type { Tape } from './tape.ts'
import { GENESIS_MS } from './trade.ts'
import { BLOCK_MS, worldPrice } from './world-price.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** There is one liquidation in each period of this length, so the time without one is at most twice as long. */
const LIQUIDATION_EVERY_MS = 20_000

/** Coins or contracts in base units. */
const OPEN_INTEREST: Record<AssetSymbol, number> = {
  BTC: 95_000,
  ETH: 1_900_000,
  SOL: 9_500_000,
  XRP: 420_000_000,
}

interface Settlement {
  /** The hour that it belongs to, and the time with which the venue stamps it, a few milliseconds later. */
  readonly dueMs: number
  readonly timeMs: number
  readonly rate: number
  readonly premium: number
  readonly markPrice: number
}

export interface Liquidation {
  readonly timeMs: number
  /** Side of the liquidation order: SELL closes a long. */
  readonly side: 'SELL' | 'BUY'
  readonly lots: number
  readonly lastLots: number
  /** Ticks. */
  readonly price: number
  readonly averagePrice: number
}

export type Derivatives = ReturnType<typeof createDerivatives>

export function createDerivatives(seed: number, tape: Tape) {
  const { market } = tape
  const fundingEveryMs = market.venue === 'perp' ? HOUR_MS : 8 * HOUR_MS
  const readPremium = createPremiumReader(seed, market)
  const premium = (timeMs: number) => readPremium(Math.floor(timeMs / BLOCK_MS))
  const interestDay = createSmoothReader(seed, market.stream + 42, DAY_MS / 1_000)
  const interestHour = createSmoothReader(seed, market.stream + 43, 3_600)
  const interestNow = createSmoothReader(seed, market.stream + 44, 30)
  const settledRate = createRateReader(seed, market)
  const markPrice = (timeMs: number) => worldPrice(seed, market.symbol, timeMs) * (1 + 0.8 * premium(timeMs))
  const interestLots =
    OPEN_INTEREST[market.symbol] * (market.venue === 'perp' ? 0.4 : 1) * 10 ** market.sizeDecimals

  function settlement(index: number): Settlement {
    const dueMs = index * fundingEveryMs
    const jitterMs =
      market.venue === 'perp'
        ? 1 + (hash32(seed, market.stream + 41, index) % 118)
        : hash32(seed, market.stream + 41, index) % 16
    return {
      dueMs,
      timeMs: dueMs + jitterMs,
      rate: settledRate(index),
      premium: premium(dueMs),
      markPrice: markPrice(dueMs),
    }
  }

  return {
    nextFundingMs: (timeMs: number) => (Math.floor(timeMs / fundingEveryMs) + 1) * fundingEveryMs,
    indexPrice: (timeMs: number) => worldPrice(seed, market.symbol, timeMs),
    markPrice,
    premium,
    /** The estimate for the next settlement; it converges to the settled rate. */
    runningRate(timeMs: number) {
      const index = Math.floor(timeMs / fundingEveryMs)
      const part = timeMs / fundingEveryMs - index
      return settledRate(index) * (1 - part) + settledRate(index + 1) * part
    },
    /** Settlements stamped in from ≤ time ≤ to, oldest first, at most `limit`. */
    settlements(fromMs: number, toMs: number, limit: number): Settlement[] {
      const found: Settlement[] = []
      let index = Math.floor(Math.max(fromMs, GENESIS_MS) / fundingEveryMs)
      for (; index * fundingEveryMs <= toMs && found.length < limit; index++) {
        const row = settlement(index)
        if (row.timeMs >= fromMs && row.timeMs <= toMs) found.push(row)
      }
      return found
    },
    /** In lots. */
    openInterest(timeMs: number) {
      const second = Math.floor(timeMs / 1_000)
      const wave = 0.08 * interestDay(second) + 0.02 * interestHour(second) + 0.002 * interestNow(second)
      return Math.round(interestLots * (1 + wave))
    },
    /** Liquidations with from ≤ time < to. */
    liquidations(fromMs: number, toMs: number): Liquidation[] {
      const found: Liquidation[] = []
      const first = Math.floor(Math.max(fromMs, GENESIS_MS) / LIQUIDATION_EVERY_MS)
      for (let index = first; index * LIQUIDATION_EVERY_MS < toMs; index++) {
        const timeMs =
          index * LIQUIDATION_EVERY_MS + (hash32(seed, market.stream + 45, index) % LIQUIDATION_EVERY_MS)
        if (timeMs >= fromMs && timeMs < toMs) found.push(liquidation(seed, tape, index, timeMs))
      }
      return found
    },
  }
}

/** Eight decimals on the exchange. On the perpetual venue ten decimals, and most of the time the interest floor. */
function createRateReader(seed: number, market: Market): (index: number) => number {
  const wave = createSmoothReader(seed, market.stream + 40, market.venue === 'perp' ? 9 : 4)
  if (market.venue !== 'perp') return (index) => Math.round((0.00006 + 0.00011 * wave(index)) * 1e8) / 1e8
  return (index) => {
    const height = wave(index)
    return height > -0.2 ? 0.0000125 : Math.round((0.0000125 + (height + 0.2) * 0.00003) * 1e10) / 1e10
  }
}

function liquidation(seed: number, tape: Tape, index: number, timeMs: number): Liquidation {
  const { stream, meanLots } = tape.market
  const isSell = unit(seed, stream + 46, index) < 0.5
  const lots = 1 + Math.floor(unit(seed, stream + 47, index) ** 3 * meanLots * 60)
  const touch = tape.bidAt(timeMs) + (isSell ? 0 : 1)
  const away = (fraction: number) => Math.max(1, Math.round(touch * (isSell ? 1 - fraction : 1 + fraction)))
  return {
    timeMs,
    side: isSell ? 'SELL' : 'BUY',
    lots,
    lastLots: 1 + (hash32(seed, stream + 48, index) % lots),
    price: away(0.004),
    averagePrice: away(0.0004),
  }
}
