/** Candles → flow rows: the volume that takers bought and sold, and at which average price. */
import { decimalText, divide, subtract } from '../../core/decimal.ts'
import type { FlowInput } from '../../core/rows/flow.ts'
import type { Candle } from './candle.ts'

const VWAP_DECIMALS = 8

/** Undefined for a venue that does not publish the side of the taker. */
export function flowOf(candle: Candle, closed: boolean): FlowInput | undefined {
  const { volume, quote, buyVolume, buyQuote } = candle
  if (quote === null || buyVolume === null || buyQuote === null) return undefined
  const sellVolume = subtract(volume, buyVolume)
  const vwap = (value: typeof quote, size: typeof volume) => {
    const price = divide(value, size, VWAP_DECIMALS)
    return price === undefined ? null : decimalText(price)
  }
  return {
    time: candle.openMs,
    buyVolume: decimalText(buyVolume),
    sellVolume: decimalText(sellVolume),
    numBuys: candle.buys,
    numSells: candle.sells,
    vwapBuy: vwap(buyQuote, buyVolume),
    vwapSell: vwap(subtract(quote, buyQuote), sellVolume),
    closed,
  }
}
