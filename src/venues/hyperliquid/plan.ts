import { CANDLES_ONLY, candlesStep, type ExchangePlan, MONTH_MS } from '../plan.ts'

const DAY_MS = 86_400_000

/**
 * Its budget is small: what most people ask for comes first, in as few questions as its limits allow, so that two
 * windows of the budget pay for the whole first fill. Whoever asks for more than a month gets the longer bars from
 * bars of an hour, which the venue keeps four times as long as those of fifteen minutes.
 */
export const hyperliquidPlan: ExchangePlan = {
  ...CANDLES_ONLY,
  source: 'perpdex',
  secondsFrom: 'trades',
  hasTrades: true,
  hasSnapshots: true,
  hasFunding: true,
  openInterest: 'streamed',
  hasTradeCounts: false,
  closeAfterMs: 4_000,
  backfill: [
    { kind: 'funding', backMs: MONTH_MS + DAY_MS, chunkMs: 20 * DAY_MS },
    candlesStep('15m', ['1h', '4h', '1d']),
    candlesStep('5m'),
    candlesStep('1m'),
    candlesStep('1h', ['4h', '1d'], MONTH_MS),
  ],
}
