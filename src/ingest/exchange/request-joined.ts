/**
 * Rates and open interest for the candles of a past range, before these are closed with them. Mostly they are stored
 * already; where coverage shows a gap, a step of the backfill failed or the live side has not got them yet, and a candle
 * that is closed with an older value would stay so.
 */
import { INTERVAL_MS } from '../../core/interval.ts'
import type { CoverageStore } from '../../store/coverage.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { feedOf, REQUESTED_LATE_MS } from '../shared/feeds.ts'
import { requestFunding, requestOpenInterest } from './request-derivatives.ts'
import type { SymbolParts } from './symbol-parts.ts'

/** Requests what is missing. Returns up to where candles of `lengthMs` have theirs; the rest is too new. */
export async function requestJoined(
  parts: SymbolParts,
  coverage: CoverageStore,
  range: HistoryRange,
  lengthMs: number,
): Promise<number> {
  const { plan, symbol, writer, clock } = parts
  let toMs = range.toMs

  async function settle(
    dataset: 'funding' | 'open_interest',
    gridMs: number,
    request: typeof requestFunding,
    /** A sample is taken every five minutes, a rate is not settled every hour: one that is long due is none. */
    isAlways: boolean,
  ): Promise<number> {
    const feed = feedOf(dataset, plan.source, symbol, dataset === 'funding' ? '' : '5m')
    const fromMs = Math.floor(range.fromMs / gridMs) * gridMs
    const { gaps } = await coverage.read([feed], fromMs, range.toMs + 1)
    const missing = gaps.filter(({ reason }) => reason !== 'not_provided')
    for (const { from, to } of missing) {
      const settledMs = await request(parts, { fromMs: Math.floor(from / gridMs) * gridMs, toMs: to })
      const dueMs = Math.ceil(settledMs / gridMs) * gridMs
      if (settledMs < to && (isAlways || clock.now() - dueMs < REQUESTED_LATE_MS)) return dueMs
    }
    return Number.POSITIVE_INFINITY
  }

  // What was observed may still be on its way to the store.
  await writer.flush()
  if (plan.hasFunding)
    toMs = Math.min(toMs, await settle('funding', INTERVAL_MS['1h'], requestFunding, false))
  // A candle has the sample of its very end too.
  if (plan.openInterest === 'requested')
    toMs = Math.min(
      toMs,
      (await settle('open_interest', INTERVAL_MS['5m'], requestOpenInterest, true)) - lengthMs,
    )
  return Math.max(range.fromMs, toMs)
}
