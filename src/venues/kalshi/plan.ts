import type { MarketPlan } from '../plan.ts'

/** Hundreds of strikes: their bars are shown less often. */
export const kalshiPlan: MarketPlan = {
  kind: 'markets',
  source: 'predmkt_b',
  datasets: ['markets', 'book', 'trades', 'market_ticker', 'open_interest'],
  volume: 'pieces',
  hasTokens: false,
  hasOpenInterest: true,
  endless: ['15m'],
  showEveryMs: 10_000,
  printsBeforeMs: 0,
  followed: { beforeMs: 0, afterMs: 0 },
}
