/** A trade and sums of trades, in whole ticks and lots; everything else is built from these two. */

/** Nothing traded before this instant. */
export const GENESIS_MS = Date.UTC(2026, 0, 1)

/** Prices in ticks, sizes in lots. */
export interface Trade {
  readonly id: number
  readonly firstFill: number
  readonly lastFill: number
  readonly timeMs: number
  readonly price: number
  readonly lots: number
  readonly takerBuys: boolean
}

/** Sums over a period; prices are 0 and meaningless while `trades` is 0. Quote = ticks × lots. */
export interface Sums {
  trades: number
  fills: number
  firstFill: number
  open: number
  high: number
  low: number
  close: number
  lots: number
  buyLots: number
  /** Exact for up to a minute; the candles add up longer periods in `bigint`. */
  quote: number
  buyQuote: number
}

export const emptySums = (): Sums => ({
  trades: 0,
  fills: 0,
  firstFill: -1,
  open: 0,
  high: 0,
  low: 0,
  close: 0,
  lots: 0,
  buyLots: 0,
  quote: 0,
  buyQuote: 0,
})
