import type { MarketPlan } from '../plan.ts'

export const polymarketPlan: MarketPlan = {
  kind: 'markets',
  source: 'predmkt_a',
  datasets: ['markets', 'book', 'trades', 'reference_price'],
  volume: 'money',
  hasTokens: true,
  hasOpenInterest: false,
  endless: ['5m', '15m'],
  showEveryMs: 2_000,
  printsBeforeMs: 25 * 3_600_000,
  followed: { beforeMs: 15 * 60_000, afterMs: 3 * 60_000 },
}
