/** What is recorded of the toy. */
import { BARS_ONLY, barsStep, type ExchangePlan } from '../../../src/venues/plan.ts'

const HOUR_MS = 3_600_000

export const toyPlan: ExchangePlan = {
  ...BARS_ONLY,
  source: 'cexa',
  secondsFrom: 'trades',
  hasTrades: true,
  backfill: [{ ...barsStep('1m'), backMs: HOUR_MS, chunkMs: HOUR_MS }],
}
