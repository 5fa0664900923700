/**
 * A candle before it becomes a row: prices are the venue's text, sums are exact. What a venue does not publish is null,
 * and a sum over something unknown is null.
 */
import { add, compare, type Decimal, decimal } from '../../core/decimal.ts'
import { type CandlePrices, joinPrices } from '../../core/join-prices.ts'
import type { CandleObservation } from '../../venues/observation.ts'

export interface Candle {
  readonly openMs: number
  readonly open: string
  readonly high: string
  readonly low: string
  readonly close: string
  readonly volume: Decimal
  /** Number of raw trades. */
  readonly count: number
  readonly quote: Decimal | null
  /** The volume that takers bought. */
  readonly buyVolume: Decimal | null
  readonly buyQuote: Decimal | null
  /** Aggregate trades by side; null if only the sums are known. */
  readonly buys: number | null
  readonly sells: number | null
}

export function candleOfKline(kline: CandleObservation): Candle {
  const orNull = (text: string | null) => (text === null ? null : decimal(text))
  return {
    openMs: kline.openTimeMs,
    open: kline.open,
    high: kline.high,
    low: kline.low,
    close: kline.close,
    volume: decimal(kline.volume),
    count: kline.tradeCount,
    quote: orNull(kline.quoteVolume),
    buyVolume: orNull(kline.takerBuyVolume),
    buyQuote: orNull(kline.takerBuyQuoteVolume),
    buys: null,
    sells: null,
  }
}

/** Joins two adjacent candles; the first is the earlier one and gives the open time. */
export function joinCandles(first: Candle, second: Candle): Candle {
  const { open, high, low, close } = joinPrices(pricesOf(first), pricesOf(second))
  return {
    openMs: first.openMs,
    open,
    high,
    low,
    close,
    volume: add(first.volume, second.volume),
    count: first.count + second.count,
    quote: addKnown(first.quote, second.quote),
    buyVolume: addKnown(first.buyVolume, second.buyVolume),
    buyQuote: addKnown(first.buyQuote, second.buyQuote),
    buys: first.buys === null || second.buys === null ? null : first.buys + second.buys,
    sells: first.sells === null || second.sells === null ? null : first.sells + second.sells,
  }
}

/** For a time without trades, exchanges publish a flat candle at the last price. */
function pricesOf(candle: Candle): CandlePrices {
  const { open, high, low, close } = candle
  return { open, high, low, close, hasTrades: candle.count > 0 || candle.volume.units > 0n }
}

function addKnown(a: Decimal | null, b: Decimal | null): Decimal | null {
  return a === null || b === null ? null : add(a, b)
}

/** Whether two candles agree in all figures that both of them have. */
export function sameFigures(a: Candle, b: Candle): boolean {
  const same = (x: Decimal | null, y: Decimal | null) => x === null || y === null || compare(x, y) === 0
  return (
    Number(a.open) === Number(b.open) &&
    Number(a.high) === Number(b.high) &&
    Number(a.low) === Number(b.low) &&
    Number(a.close) === Number(b.close) &&
    a.count === b.count &&
    same(a.volume, b.volume) &&
    same(a.quote, b.quote) &&
    same(a.buyVolume, b.buyVolume) &&
    same(a.buyQuote, b.buyQuote)
  )
}
