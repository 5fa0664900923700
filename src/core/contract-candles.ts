/**
 * UTC candles of a yes/no contract, built from the venue's finer candles. A finer candle with trades contributes its
 * own prices; one without trades contributes the midpoint of its closing quotes. Days are built from minutes or hours,
 * never from the venue's days, which end at midnight in New York.
 */
import { add, decimal, decimalText, ZERO } from './decimal.ts'
import { type CandleInterval, candleStart } from './interval.ts'
import type { Prices } from './join-prices.ts'
import { type MarketCandle, pricesOf } from './market-candles.ts'
import { MICRO, microOf, middleText } from './micro.ts'

export interface ContractCandle {
  readonly openTimeMs: number
  /** Null if there was no trade. */
  readonly price: Prices | null
  /** Closing quotes; null where the venue sends none. */
  readonly yesBid: string | null
  readonly yesAsk: string | null
  readonly volume: string
}

export function buildContractCandles(options: {
  interval: CandleInterval
  finer: readonly ContractCandle[]
}): MarketCandle[] {
  const groups = Map.groupBy(
    options.finer.toSorted((a, b) => a.openTimeMs - b.openTimeMs),
    (candle) => candleStart(candle.openTimeMs, options.interval),
  )
  return [...groups].flatMap(([openTimeMs, group]): MarketCandle[] => {
    const traded = group.flatMap((candle) => (candle.price === null ? [] : [candle.price]))
    const mids = group.flatMap((candle) => quoteMid(candle) ?? [])
    const volume = decimalText(group.reduce((sum, candle) => add(sum, decimal(candle.volume)), ZERO))
    const first = traded[0]
    if (first !== undefined) {
      const range = pricesOf(traded.flatMap((price) => [price.open, price.high, price.low, price.close]))
      if (range === null) return []
      const close = decimalText(decimal(traded.at(-1)?.close ?? first.close))
      return [{ openTimeMs, ...range, close, volume, basis: 'trade' as const, samples: traded.length }]
    }
    const prices = pricesOf(mids)
    return prices === null
      ? []
      : [{ openTimeMs, ...prices, volume, basis: 'mid' as const, samples: mids.length }]
  })
}

/** The venue quotes an empty side as 0 or 1, which is not a price. */
function quoteMid(candle: ContractCandle): string | null {
  const bid = candle.yesBid === null ? undefined : microOf(candle.yesBid)
  const ask = candle.yesAsk === null ? undefined : microOf(candle.yesAsk)
  if (bid === undefined || ask === undefined || bid <= 0 || ask >= MICRO || bid >= ask) return null
  return middleText(bid, ask)
}
