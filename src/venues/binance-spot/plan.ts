import { CANDLES_ONLY, type ExchangePlan, minutesStep } from '../plan.ts'

const HOUR_MS = 3_600_000

export const binanceSpotPlan: ExchangePlan = {
  ...CANDLES_ONLY,
  source: 'cexa',
  secondsFrom: 'candles',
  hasFlow: true,
  hasTicker: true,
  backfill: [
    { kind: 'counts', backMs: 6 * HOUR_MS, chunkMs: HOUR_MS },
    minutesStep(true),
    { kind: 'seconds', backMs: 24 * HOUR_MS, chunkMs: HOUR_MS },
  ],
}
