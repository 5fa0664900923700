import { CANDLES_ONLY, candlesStep, type ExchangePlan, MONTH_MS } from '../plan.ts'

const DAY_MS = 86_400_000

/**
 * The venue's budget is small, so what callers request most comes first, in as few requests as its limits allow; the
 * first backfill takes two windows of the budget. Beyond a month the longer candles are built from hourly ones, which
 * the venue keeps four times as long as those of fifteen minutes.
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
  hasQuietCandles: false,
  closeAfterMs: 4_000,
  backfill: [
    { kind: 'funding', backMs: MONTH_MS + DAY_MS, chunkMs: 20 * DAY_MS },
    candlesStep('15m', ['1h', '4h', '1d']),
    candlesStep('5m'),
    candlesStep('1m'),
    candlesStep('1h', ['4h', '1d'], MONTH_MS),
  ],
}
