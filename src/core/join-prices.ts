/**
 * Computes the prices of a longer candle from the candles it consists of. A candle without trades repeats an older
 * price (or a quote). It is ignored beside a candle with trades, because otherwise the longer candle could open, peak
 * or close at a price at which nobody traded in it.
 */
import { compare, decimal } from './decimal.ts'

export interface Prices {
  readonly open: string
  readonly high: string
  readonly low: string
  readonly close: string
}

export interface CandlePrices extends Prices {
  readonly hasTrades: boolean
}

/** Joins two neighbours, the earlier one first. Prices keep their text. */
export function joinPrices(first: CandlePrices, second: CandlePrices): CandlePrices {
  if (first.hasTrades !== second.hasTrades) return first.hasTrades ? first : second
  return {
    open: first.open,
    high: isAbove(second.high, first.high) ? second.high : first.high,
    low: isAbove(first.low, second.low) ? second.low : first.low,
    close: second.close,
    hasTrades: first.hasTrades,
  }
}

/** Compares exactly, because two long decimals may be the same floating-point number. */
function isAbove(a: string, b: string): boolean {
  const [x, y] = [Number(a), Number(b)]
  return x === y ? a !== b && compare(decimal(a), decimal(b)) > 0 : x > y
}
