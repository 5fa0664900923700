/**
 * Compares stored seconds with the venue: with its own one-second candles, or with those built from its numbered
 * trades.
 */
import type { EnvironmentStore } from '../../store/environment.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { requestTradeCandles } from '../exchange/backfill-trade-candles.ts'
import { noCounts, type SymbolParts } from '../exchange/symbol-parts.ts'
import type { WrongRow } from './suspicions.ts'
import { judgeCandles, requestCandles } from './venue-candles.ts'

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000

/** How far back the venue has the data that seconds are made of. */
export function reachOfSeconds({ plan, venue }: SymbolParts): number {
  const topic = plan.secondsFrom === 'candles' ? 'candles' : 'aggregate_trades'
  const maxAgeMs = venue.describe.history[topic]?.maxAgeMs ?? null
  return maxAgeMs === null ? Number.POSITIVE_INFINITY : maxAgeMs - HOUR_MS
}

export async function judgeSeconds(
  store: Pick<EnvironmentStore, 'series' | 'coverage'>,
  parts: SymbolParts,
  range: HistoryRange,
): Promise<WrongRow[] | undefined> {
  const candles =
    parts.plan.secondsFrom === 'candles'
      ? await requestCandles(parts, '1s', range)
      : await builtSeconds(parts, range)
  return candles === undefined ? undefined : judgeCandles(store, parts, '1s', candles, range)
}

/** The trade numbers prove that the venue left out no trade. */
async function builtSeconds(parts: SymbolParts, range: HistoryRange) {
  const { candles, wholeMs, missing, broken } = await requestTradeCandles(
    { ...parts, counts: noCounts() },
    range,
    SECOND_MS,
  )
  return wholeMs >= range.toMs && missing.length === 0 && broken.length === 0 ? candles : undefined
}
