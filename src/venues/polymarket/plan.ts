import type { SettlementPrice } from '../../core/settlement.ts'
import type { PredictionPlan } from '../plan.ts'

const EXCHANGE_PRICE: SettlementPrice = { of: 'binance', windowSeconds: null }
const MEAN_OF_A_MINUTE: SettlementPrice = { of: 'chainlink', windowSeconds: 60 }

export const polymarketPlan: PredictionPlan = {
  kind: 'markets',
  source: 'predmkt_a',
  topics: ['markets', 'book', 'trades', 'reference_price'],
  volume: 'money',
  hasTokens: true,
  hasOpenInterest: false,
  endless: ['5m', '15m', '1h'],
  // Frames are not numbered, so what a lost one changed is found only by the next comparison, once a minute.
  booksFinalAfterMs: 150_000,
  publishEveryMs: 2_000,
  tradesBeforeMs: 25 * 3_600_000,
  followed: { beforeMs: 15 * 60_000, afterMs: 3 * 60_000 },
  usualSettlement: {
    '5m': MEAN_OF_A_MINUTE,
    '15m': MEAN_OF_A_MINUTE,
    '1h': EXCHANGE_PRICE,
    '4h': MEAN_OF_A_MINUTE,
    '24h': EXCHANGE_PRICE,
  },
}
