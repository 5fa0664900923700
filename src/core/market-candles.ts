/**
 * Candles of one instrument of a prediction market (a token, or a yes/no ticker). Trades come first because they can
 * be asked for again, exactly; a candle without trades is made of the book's midpoints; a candle with neither is none.
 *
 *   trade   open, high, low, close of the trades in (time, arrival) order, volume of all trades
 *   mid     the same of the midpoints, volume 0; trades that are found later replace it
 */
import { add, compare, type Decimal, decimal, decimalText, multiply, ZERO } from './decimal.ts'
import { type CandleInterval, candleStart } from './interval.ts'
import { joinPrices, type Prices } from './join-prices.ts'
import { MICRO, middleText } from './micro.ts'

export interface MarketTrade {
  readonly timeMs: number
  readonly price: string
  readonly size: string
  /** Negotiated away from the book: counts as volume, not as a price. */
  readonly isBlock?: boolean
}

export interface MidSample {
  readonly timeMs: number
  readonly price: string
}

export interface MarketCandle {
  readonly openTimeMs: number
  readonly open: string
  readonly high: string
  readonly low: string
  readonly close: string
  readonly volume: string
  readonly basis: 'trade' | 'mid'
  /** How many trades or samples the prices come from. */
  readonly samples: number
}

/** Volume in money (Σ price × size) or in pieces (Σ size). */
export type VolumeUnit = 'money' | 'pieces'

/** Beyond this spread the midpoint of a book is not a price. */
const MAX_MID_SPREAD = MICRO / 10

/** The midpoint of a two-sided book in millionths, where its spread allows one. */
export function midOf(bid: number | null, ask: number | null): string | null {
  return bid !== null && ask !== null && ask - bid > MAX_MID_SPREAD ? null : anyMidOf(bid, ask)
}

/** The midpoint of a two-sided book, however wide it is. */
export function anyMidOf(bid: number | null, ask: number | null): string | null {
  return bid === null || ask === null ? null : middleText(bid, ask)
}

/** Ascending; candles in which neither a trade nor a midpoint lies are left out. */
export function buildMarketCandles(options: {
  interval: CandleInterval
  trades: readonly MarketTrade[]
  mids: readonly MidSample[]
  volume: VolumeUnit
}): MarketCandle[] {
  const trades = groupByCandle(options.trades, options.interval)
  const mids = groupByCandle(options.mids, options.interval)
  const starts = [...new Set([...trades.keys(), ...mids.keys()])].sort((a, b) => a - b)
  return starts.flatMap((openTimeMs) => {
    const traded = trades.get(openTimeMs) ?? []
    const priced = traded.filter((trade) => trade.isBlock !== true)
    const samples = priced.length > 0 ? priced : (mids.get(openTimeMs) ?? [])
    const prices = pricesOf(samples.map((sample) => sample.price))
    if (prices === null) return []
    const volume = volumeOf(traded, options.volume)
    const basis = priced.length > 0 ? ('trade' as const) : ('mid' as const)
    return [{ openTimeMs, ...prices, volume, basis, samples: samples.length }]
  })
}

/**
 * Longer candles from the candles they are made of: the same as from the trades themselves. A finer candle of midpoints is
 * no part of a candle that has trades.
 */
export function rollUpMarketCandles(
  interval: CandleInterval,
  finer: readonly MarketCandle[],
): MarketCandle[] {
  const groups = Map.groupBy(
    finer.toSorted((a, b) => a.openTimeMs - b.openTimeMs),
    (candle) => candleStart(candle.openTimeMs, interval),
  )
  return [...groups].map(([openTimeMs, all]): MarketCandle => {
    const { hasTrades, ...prices } = all
      .map((candle) => ({
        ...{ open: candle.open, high: candle.high, low: candle.low, close: candle.close },
        hasTrades: candle.basis === 'trade',
      }))
      .reduce(joinPrices)
    const basis = hasTrades ? ('trade' as const) : ('mid' as const)
    const volume = decimalText(all.reduce((sum, candle) => add(sum, decimal(candle.volume)), ZERO))
    const samples = all.reduce((sum, candle) => sum + (candle.basis === basis ? candle.samples : 0), 0)
    return { openTimeMs, ...plainPrices(prices), volume, basis, samples }
  })
}

/** Null for no prices at all. */
export function pricesOf(prices: readonly string[]): Prices | null {
  const [open, close] = [prices[0], prices.at(-1)]
  if (open === undefined || close === undefined) return null
  let high = decimal(open)
  let low = high
  for (const price of prices) {
    const value = decimal(price)
    if (compare(value, high) > 0) high = value
    if (compare(value, low) < 0) low = value
  }
  return plainPrices({ open, high: decimalText(high), low: decimalText(low), close })
}

function plainPrices({ open, high, low, close }: Prices): Prices {
  const text = (value: string) => decimalText(decimal(value))
  return { open: text(open), high: text(high), low: text(low), close: text(close) }
}

function volumeOf(trades: readonly MarketTrade[], unit: VolumeUnit): string {
  const sizeOf = ({ price, size }: MarketTrade): Decimal =>
    unit === 'money' ? multiply(decimal(price), decimal(size)) : decimal(size)
  return decimalText(trades.reduce((sum, trade) => add(sum, sizeOf(trade)), ZERO))
}

/** The order within a candle is by time, then as given. */
function groupByCandle<T extends { readonly timeMs: number }>(
  items: readonly T[],
  interval: CandleInterval,
): Map<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const item of items.toSorted((a, b) => a.timeMs - b.timeMs)) {
    const start = candleStart(item.timeMs, interval)
    const group = groups.get(start)
    if (group === undefined) groups.set(start, [item])
    else group.push(item)
  }
  return groups
}
