import type { PredictionPlan } from '../plan.ts'

/** There are hundreds of strikes, so candles that are still open are published less often. */
export const kalshiPlan: PredictionPlan = {
  kind: 'markets',
  source: 'predmkt_b',
  topics: ['markets', 'book', 'trades', 'market_ticker', 'open_interest'],
  volume: 'pieces',
  hasTokens: false,
  hasOpenInterest: true,
  endless: ['15m'],
  // A window that should be running but is not listed becomes a gap after two minutes.
  booksFinalAfterMs: 150_000,
  publishEveryMs: 10_000,
  tradesBeforeMs: 0,
  followed: { beforeMs: 0, afterMs: 0 },
}
