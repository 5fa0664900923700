/**
 * Candles of one instrument of a prediction market (a token, or a yes/no ticker). Trades are preferred because they can
 * be requested again exactly. A candle without trades is built from the midpoints of the order book; without either
 * there is no candle.
 *
 *   trade   open, high, low, close of the trades in (time, arrival) order, volume of all trades
 *   mid     the same from the midpoints, volume 0; replaced by trades that are found later
 */
import { add, compare, type Decimal, decimal, decimalText, multiply, ZERO } from './decimal.ts'
import { type CandleInterval, candleStart } from './interval.ts'
import { type CandlePrices, joinPrices, type Prices } from './join-prices.ts'
import { MICRO, middleText } from './micro.ts'

export interface MarketTrade {
  readonly timeMs: number
  readonly price: string
  readonly size: string
  /** Negotiated outside the order book: counts towards the volume but not as a price. */
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
  /** How many trades or midpoints the prices come from. */
  readonly samples: number
}

/** Volume in money (Σ price × size) or in contracts (Σ size). */
export type VolumeUnit = 'money' | 'pieces'

/** Beyond this spread the midpoint of a book is not a price. */
const MAX_MID_SPREAD = MICRO / 10

/** The midpoint of a two-sided order book in millionths; null if the spread is too wide. */
export function midOf(bid: number | null, ask: number | null): string | null {
  return bid !== null && ask !== null && ask - bid > MAX_MID_SPREAD ? null : anyMidOf(bid, ask)
}

/** The midpoint of a two-sided order book, however wide its spread is. */
export function anyMidOf(bid: number | null, ask: number | null): string | null {
  return bid === null || ask === null ? null : middleText(bid, ask)
}

/** In ascending order. A candle with neither a trade nor a midpoint is left out. */
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
    const traded = new TradedPrices(options.volume)
    for (const trade of trades.get(openTimeMs) ?? []) traded.add(trade)
    return marketCandle(openTimeMs, traded, mids.get(openTimeMs) ?? []) ?? []
  })
}

/** The candle of the given trades and midpoints, which must be in order of time; undefined if neither gives a price. */
export function marketCandle(
  openTimeMs: number,
  traded: TradedPrices,
  mids: readonly MidSample[],
): MarketCandle | undefined {
  const basis = traded.priced > 0 ? ('trade' as const) : ('mid' as const)
  const prices = traded.prices() ?? pricesOf(mids.map(({ price }) => price))
  if (prices === null) return undefined
  const samples = basis === 'trade' ? traded.priced : mids.length
  return { openTimeMs, ...prices, volume: decimalText(traded.volume), basis, samples }
}

/**
 * What a candle needs from its trades, which may be added in any order. Of trades at the same instant, the first one
 * added can be the open and the last one the close.
 */
export class TradedPrices {
  readonly #unit: VolumeUnit
  #volume = ZERO
  /** How many trades gave a price. */
  priced = 0
  #open = { timeMs: 0, price: '' }
  #close = { timeMs: 0, price: '' }
  #high = ZERO
  #low = ZERO

  constructor(unit: VolumeUnit) {
    this.#unit = unit
  }

  get volume(): Decimal {
    return this.#volume
  }

  add(trade: MarketTrade): void {
    const price = decimal(trade.price)
    const size = decimal(trade.size)
    this.#volume = add(this.#volume, this.#unit === 'money' ? multiply(price, size) : size)
    if (trade.isBlock === true) return
    const isFirst = this.priced === 0
    this.priced += 1
    if (isFirst || trade.timeMs < this.#open.timeMs) this.#open = { timeMs: trade.timeMs, price: trade.price }
    if (isFirst || trade.timeMs >= this.#close.timeMs)
      this.#close = { timeMs: trade.timeMs, price: trade.price }
    if (isFirst || compare(price, this.#high) > 0) this.#high = price
    if (isFirst || compare(price, this.#low) < 0) this.#low = price
  }

  /** Null if no trade gave a price. */
  prices(): Prices | null {
    if (this.priced === 0) return null
    return plainPrices({
      open: this.#open.price,
      high: decimalText(this.#high),
      low: decimalText(this.#low),
      close: this.#close.price,
    })
  }
}

/**
 * Builds longer candles from finer ones. The result is the same as from the trades themselves, except for the volume of
 * block trades at a time without a price, for which there is no finer candle. A finer candle of midpoints does not
 * contribute prices to a candle that has trades.
 */
export function rollUpMarketCandles(
  interval: CandleInterval,
  finer: readonly MarketCandle[],
): MarketCandle[] {
  const groups = Map.groupBy(
    finer.toSorted((a, b) => a.openTimeMs - b.openTimeMs),
    (candle) => candleStart(candle.openTimeMs, interval),
  )
  return [...groups].map(([openTimeMs, all]) =>
    joinedCandle(openTimeMs, all.map(joinedOf).reduce(joinMarketCandles)),
  )
}

/** Finer candles that are being joined into a longer one. */
export interface JoinedCandles {
  readonly prices: CandlePrices
  readonly volume: Decimal
  readonly samples: Readonly<Record<MarketCandle['basis'], number>>
}

export function joinedOf({ open, high, low, close, basis, volume, samples }: MarketCandle): JoinedCandles {
  const hasTrades = basis === 'trade'
  return {
    prices: { open, high, low, close, hasTrades },
    volume: decimal(volume),
    samples: { trade: hasTrades ? samples : 0, mid: hasTrades ? 0 : samples },
  }
}

/** Joins two neighbours, the earlier one first. */
export function joinMarketCandles(first: JoinedCandles, second: JoinedCandles): JoinedCandles {
  return {
    prices: joinPrices(first.prices, second.prices),
    volume: add(first.volume, second.volume),
    samples: {
      trade: first.samples.trade + second.samples.trade,
      mid: first.samples.mid + second.samples.mid,
    },
  }
}

export function joinedCandle(openTimeMs: number, { prices, volume, samples }: JoinedCandles): MarketCandle {
  const basis = prices.hasTrades ? ('trade' as const) : ('mid' as const)
  return {
    openTimeMs,
    ...plainPrices(prices),
    volume: decimalText(volume),
    basis,
    samples: samples[basis],
  }
}

/** Null for an empty list. */
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

/** Within a candle, items are ordered by time, then as given. */
function groupByCandle<T extends { readonly timeMs: number }>(
  items: readonly T[],
  interval: CandleInterval,
): Map<number, T[]> {
  const sorted = items.toSorted((a, b) => a.timeMs - b.timeMs)
  return Map.groupBy(sorted, ({ timeMs }) => candleStart(timeMs, interval))
}
