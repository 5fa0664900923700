/** The price on which an Up/Down market is settled: another one per market, and the venue changes it over the years. */
export interface SettlementPrice {
  /** Whose price: that of the exchange or that of the oracle's stream. */
  readonly of: 'binance' | 'chainlink'
  /** Its mean over so many seconds; null for the price of the moment. */
  readonly windowSeconds: number | null
}
