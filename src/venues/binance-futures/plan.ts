import { CANDLES_ONLY, type ExchangePlan, MONTH_MS, minutesStep } from '../plan.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/**
 * The current mark price and the newest open interest are in no series, because a second recorder, a restart or a
 * backfill could not get the same values again. Rates are the settled ones, open interest is the venue's five-minute
 * samples with their dollar value at the mark price, and candles join both.
 */
export const binanceFuturesPlan: ExchangePlan = {
  ...CANDLES_ONLY,
  source: 'cexa_futures',
  secondsFrom: 'aggregate_trades',
  hasTicker: true,
  hasLiquidations: true,
  hasFunding: true,
  openInterest: 'requested',
  hasTakerBuyRatio: true,
  aggregatesSpanMinutes: true,
  backfill: [
    { kind: 'funding', backMs: MONTH_MS + DAY_MS, chunkMs: MONTH_MS },
    { kind: 'open_interest', backMs: MONTH_MS, chunkMs: DAY_MS },
    minutesStep(false),
    { kind: 'seconds', backMs: DAY_MS - HOUR_MS, chunkMs: 10 * MINUTE_MS },
  ],
}
