/**
 * The price by which an Up/Down market is settled. It differs between markets, and the venue has changed it over the
 * years.
 */
export interface SettlementPrice {
  /** Whose price it is: the exchange's or that of the oracle's stream. */
  readonly of: 'binance' | 'chainlink'
  /** The price is averaged over this many seconds; null for the price at a single moment. */
  readonly windowSeconds: number | null
}
