import type { MarketPlan } from '../plan.ts'

export const polymarketPlan: MarketPlan = {
  kind: 'markets',
  source: 'predmkt_a',
  datasets: ['markets', 'book', 'trades', 'reference_price'],
  volume: 'money',
  hasTokens: true,
  hasOpenInterest: false,
  showEveryMs: 2_000,
}
