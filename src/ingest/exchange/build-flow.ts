/** Bars → flow rows: what takers bought and sold, at which average price. */
import { decimalText, divide, subtract } from '../../core/decimal.ts'
import type { FlowInput } from '../../core/rows/flow.ts'
import type { Candle } from './candle.ts'

const VWAP_DECIMALS = 8

/** Undefined for a bar of a venue that does not tell who was the aggressor. */
export function flowOf(bar: Candle, closed: boolean): FlowInput | undefined {
  const { volume, quote, buyVolume, buyQuote } = bar
  if (quote === null || buyVolume === null || buyQuote === null) return undefined
  const sellVolume = subtract(volume, buyVolume)
  const vwap = (value: typeof quote, size: typeof volume) => {
    const price = divide(value, size, VWAP_DECIMALS)
    return price === undefined ? null : decimalText(price)
  }
  return {
    time: bar.openMs,
    buyVolume: decimalText(buyVolume),
    sellVolume: decimalText(sellVolume),
    numBuys: bar.buys,
    numSells: bar.sells,
    vwapBuy: vwap(buyQuote, buyVolume),
    vwapSell: vwap(subtract(quote, buyQuote), sellVolume),
    closed,
  }
}
