/**
 * Trades → bars. A trade belongs to the bar of its own time, whenever it arrives: within a bar the earliest trade
 * opens and the latest closes, trades of one millisecond in the order they came.
 *
 * Late trades: a bar stays open for trades until it is taken (`take`, after the venue's own bar was compared).
 * A trade for a bar that was taken is refused and told to the caller, who knows whether it can be repaired.
 */
import { add, decimal, multiply, ZERO } from '../../core/decimal.ts'
import type { Candle } from './candle.ts'

export interface TradeFact {
  readonly timeMs: number
  readonly price: string
  readonly size: string
  readonly side: 'buy' | 'sell'
  /** Raw trades in it: an aggregate trade stands for several. */
  readonly fills: number
}

export interface CandleBuilder {
  /** False for a trade that comes after its bar was taken. */
  add(trade: TradeFact): boolean
  /** The bar as it is now. */
  at(openMs: number): Candle | undefined
  /** Bars that changed since this was last asked. */
  changed(): Candle[]
  /** Removes and returns the bars that open before an instant, in order. */
  take(beforeMs: number): Candle[]
}

type Building = { -readonly [K in keyof Candle]: Candle[K] } & {
  firstMs: number
  lastMs: number
  high_: number
  low_: number
}

export function createCandleBuilder(options: { lengthMs: number; fromMs?: number }): CandleBuilder {
  const { lengthMs } = options
  const bars = new Map<number, Building>()
  const touched = new Set<number>()
  let takenBeforeMs = options.fromMs ?? Number.NEGATIVE_INFINITY

  return {
    add(trade) {
      const openMs = Math.floor(trade.timeMs / lengthMs) * lengthMs
      if (openMs < takenBeforeMs) return false
      touched.add(openMs)
      const bar = bars.get(openMs)
      if (bar === undefined) bars.set(openMs, begin(openMs, trade))
      else extend(bar, trade)
      return true
    },
    at: (openMs) => bars.get(openMs),
    changed() {
      const list = [...touched].sort((a, b) => a - b).flatMap((openMs) => bars.get(openMs) ?? [])
      touched.clear()
      return list
    },
    take(beforeMs) {
      takenBeforeMs = Math.max(takenBeforeMs, beforeMs)
      const taken = [...bars.values()]
        .filter((bar) => bar.openMs < beforeMs)
        .sort((a, b) => a.openMs - b.openMs)
      for (const { openMs } of taken) {
        bars.delete(openMs)
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

function extend(bar: Building, trade: TradeFact): void {
  const { timeMs, price } = trade
  if (timeMs < bar.firstMs) {
    bar.firstMs = timeMs
    bar.open = price
  }
  if (timeMs >= bar.lastMs) {
    bar.lastMs = timeMs
    bar.close = price
  }
  const value = Number(price)
  if (value > bar.high_) {
    bar.high_ = value
    bar.high = price
  }
  if (value < bar.low_) {
    bar.low_ = value
    bar.low = price
  }
  const size = decimal(trade.size)
  const quote = multiply(decimal(price), size)
  bar.volume = add(bar.volume, size)
  bar.quote = add(bar.quote ?? ZERO, quote)
  bar.count += trade.fills
  if (trade.side === 'buy') {
    bar.buyVolume = add(bar.buyVolume ?? ZERO, size)
    bar.buyQuote = add(bar.buyQuote ?? ZERO, quote)
    bar.buys = (bar.buys ?? 0) + 1
  } else {
    bar.sells = (bar.sells ?? 0) + 1
  }
}
