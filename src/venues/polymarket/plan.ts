import type { PredictionPlan } from '../plan.ts'

export const polymarketPlan: PredictionPlan = {
  kind: 'markets',
  source: 'predmkt_a',
  topics: ['markets', 'book', 'trades', 'reference_price'],
  volume: 'money',
  hasTokens: true,
  hasOpenInterest: false,
  endless: ['5m', '15m'],
  publishEveryMs: 2_000,
  tradesBeforeMs: 25 * 3_600_000,
  followed: { beforeMs: 15 * 60_000, afterMs: 3 * 60_000 },
}
