import { BARS_ONLY, barsStep, type ExchangePlan, MONTH_MS } from '../plan.ts'

const DAY_MS = 86_400_000

/** Its budget is small: what most people ask for comes first. */
export const hyperliquidPlan: ExchangePlan = {
  ...BARS_ONLY,
  source: 'perpdex',
  secondsFrom: 'trades',
  hasTrades: true,
  hasSnapshots: true,
  hasFunding: true,
  openInterest: 'heard',
  closeAfterMs: 4_000,
  backfill: [
    { kind: 'funding', backMs: MONTH_MS + DAY_MS, chunkMs: 20 * DAY_MS },
    barsStep('1h', ['4h', '1d'], 32 * DAY_MS),
    barsStep('15m', [], 15 * DAY_MS),
    barsStep('5m', [], 5 * DAY_MS),
    barsStep('1m', [], DAY_MS),
  ],
}
