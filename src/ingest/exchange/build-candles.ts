/**
 * Trades → candles. A trade belongs to the candle of its own time, whenever it arrives. Within a candle the earliest
 * trade sets the open and the latest the close; trades of the same millisecond count in order of arrival.
 *
 * Late trades: a candle accepts trades until it is taken (`take`, after comparison with the venue's own candle). A
 * trade for a candle that was taken is refused; the caller knows whether the candle can be repaired.
 */
import { add, decimal, multiply, ZERO } from '../../core/decimal.ts'
import type { Candle } from './candle.ts'

export interface TradeFact {
  readonly timeMs: number
  readonly price: string
  readonly size: string
  readonly side: 'buy' | 'sell'
  /** Number of raw trades; an aggregate trade may have several. */
  readonly fills: number
}

type Building = { -readonly [K in keyof Candle]: Candle[K] } & {
  firstMs: number
  lastMs: number
  high_: number
  low_: number
}

export function createCandleBuilder(options: { lengthMs: number; fromMs?: number }) {
  const { lengthMs } = options
  /** Mostly in order of time. */
  const candles = new Map<number, Building>()
  let isSorted = true
  let oldestMs = Number.POSITIVE_INFINITY
  let newestMs = Number.NEGATIVE_INFINITY
  const touched = new Set<number>()
  let takenBeforeMs = options.fromMs ?? Number.NEGATIVE_INFINITY

  function sort(): void {
    const sorted = [...candles].sort(([a], [b]) => a - b)
    candles.clear()
    for (const [openMs, candle] of sorted) candles.set(openMs, candle)
    isSorted = true
  }

  return {
    /** Returns false for a trade that arrives after its candle was taken. */
    add(trade: TradeFact) {
      const openMs = Math.floor(trade.timeMs / lengthMs) * lengthMs
      if (openMs < takenBeforeMs) return false
      touched.add(openMs)
      const candle = candles.get(openMs)
      if (candle === undefined) {
        candles.set(openMs, begin(openMs, trade))
        if (openMs < newestMs) isSorted = false
        oldestMs = Math.min(oldestMs, openMs)
        newestMs = Math.max(newestMs, openMs)
      } else extend(candle, trade)
      return true
    },
    /** The candle as it is now. */
    at: (openMs: number): Candle | undefined => candles.get(openMs),
    /** The candles that changed since the last call. */
    changed(): Candle[] {
      const list = [...touched].sort((a, b) => a - b).flatMap((openMs) => candles.get(openMs) ?? [])
      touched.clear()
      return list
    },
    /** Candles that open before this instant have been taken. */
    get takenBeforeMs() {
      return takenBeforeMs
    },
    get size() {
      return candles.size
    },
    /** Open time of the oldest candle; infinite if there is no candle. */
    get oldestMs() {
      return oldestMs
    },
    /** Removes and returns, in order, the candles that open before an instant. Later candles are not visited. */
    take(beforeMs: number): Candle[] {
      takenBeforeMs = Math.max(takenBeforeMs, beforeMs)
      if (!isSorted) sort()
      const taken: Candle[] = []
      oldestMs = Number.POSITIVE_INFINITY
      for (const [openMs, candle] of candles) {
        if (openMs >= beforeMs) {
          oldestMs = openMs
          break
        }
        taken.push(candle)
        candles.delete(openMs)
        touched.delete(openMs)
      }
      return taken
    },
  }
}

function begin(openMs: number, trade: TradeFact): Building {
  const empty: Building = {
    openMs,
    open: trade.price,
    high: trade.price,
    low: trade.price,
    close: trade.price,
    volume: ZERO,
    count: 0,
    quote: ZERO,
    buyVolume: ZERO,
    buyQuote: ZERO,
    buys: 0,
    sells: 0,
    firstMs: trade.timeMs,
    lastMs: trade.timeMs,
    high_: Number(trade.price),
    low_: Number(trade.price),
  }
  extend(empty, trade)
  return empty
}

function extend(candle: Building, trade: TradeFact): void {
  const { timeMs, price } = trade
  if (timeMs < candle.firstMs) {
    candle.firstMs = timeMs
    candle.open = price
  }
  if (timeMs >= candle.lastMs) {
    candle.lastMs = timeMs
    candle.close = price
  }
  const value = Number(price)
  if (value > candle.high_) {
    candle.high_ = value
    candle.high = price
  }
  if (value < candle.low_) {
    candle.low_ = value
    candle.low = price
  }
  const size = decimal(trade.size)
  const quote = multiply(decimal(price), size)
  candle.volume = add(candle.volume, size)
  candle.quote = add(candle.quote ?? ZERO, quote)
  candle.count += trade.fills
  if (trade.side === 'buy') {
    candle.buyVolume = add(candle.buyVolume ?? ZERO, size)
    candle.buyQuote = add(candle.buyQuote ?? ZERO, quote)
    candle.buys = (candle.buys ?? 0) + 1
  } else {
    candle.sells = (candle.sells ?? 0) + 1
  }
}
