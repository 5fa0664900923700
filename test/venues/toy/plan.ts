/** What is recorded of the toy. */
import { CANDLES_ONLY, candlesStep, type ExchangePlan } from '../../../src/venues/plan.ts'

const HOUR_MS = 3_600_000

export const toyPlan: ExchangePlan = {
  ...CANDLES_ONLY,
  source: 'cexa',
  secondsFrom: 'trades',
  hasTrades: true,
  backfill: [{ ...candlesStep('1m'), backMs: HOUR_MS, chunkMs: HOUR_MS }],
}
