/** Candles → candle rows, joined with the funding rate and open interest of a perpetual. */
import { decimalText, divide } from '../../core/decimal.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { CandleInput } from '../../core/rows/candle.ts'
import type { ExchangePlan } from '../shared/feeds.ts'
import type { Candle } from './candle.ts'
import type { Derivatives } from './join-derivatives.ts'
import type { RolledCandle } from './roll-up-candles.ts'

const RATIO_DECIMALS = 6

export function candleOf(
  plan: Pick<ExchangePlan, 'hasTradeCounts' | 'hasTakerBuyRatio'>,
  { interval, candle }: RolledCandle,
  closed: boolean,
  derivatives: Derivatives | undefined,
): CandleInput {
  const closeMs = candle.openMs + INTERVAL_MS[interval]
  return {
    time: candle.openMs,
    open: candle.open,
    high: candle.high,
    low: candle.low,
    close: candle.close,
    volume: decimalText(candle.volume),
    ...(plan.hasTradeCounts ? { numTrades: candle.count } : {}),
    ...(plan.hasTakerBuyRatio ? { takerBuyRatio: takerBuyRatio(candle) } : {}),
    ...(derivatives === undefined
      ? {}
      : { fundingRate: derivatives.fundingAt(closeMs), openInterest: derivatives.openInterestAt(closeMs) }),
    closed,
  }
}

function takerBuyRatio({ volume, buyVolume }: Candle): string | null {
  const ratio = buyVolume === null ? undefined : divide(buyVolume, volume, RATIO_DECIMALS)
  return ratio === undefined ? null : decimalText(ratio)
}
