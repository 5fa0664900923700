/**
 * Requests rates and open interest for the candles of a past range, before the candles are closed with them. Usually
 * they are already stored. Where coverage shows a gap, a backfill step failed or live recording does not have them yet,
 * and a candle that is closed with an older value would keep it.
 */
import type { Feed } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { CoverageStore } from '../../store/coverage.ts'
import { FUNDING_LATE_MS } from '../../venues/due-rate.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { feedOf } from '../shared/feeds.ts'
import { requestFunding, requestOpenInterest } from './request-derivatives.ts'
import type { SymbolParts } from './symbol-parts.ts'

const HOUR_MS = INTERVAL_MS['1h']
const GRID_MS = INTERVAL_MS['5m']

export interface Joined {
  /** Candles of `lengthMs` up to this instant have their values. */
  readonly toMs: number
  /** Why later candles lack their values; undefined if they are just too new. */
  readonly error?: unknown
}

/** Requests the values that coverage shows as missing. */
export async function requestJoined(
  parts: SymbolParts,
  coverage: CoverageStore,
  range: HistoryRange,
  lengthMs: number,
): Promise<Joined> {
  const { plan, symbol, writer, clock } = parts
  let toMs = range.toMs
  let interestError: unknown

  const missingOf = async (feed: Feed, gridMs: number) => {
    const fromMs = Math.floor(range.fromMs / gridMs) * gridMs
    const { gaps } = await coverage.read([feed], fromMs, range.toMs + 1)
    return gaps.filter(({ reason }) => reason !== 'not_provided')
  }

  /**
   * The instant up to which rates are known. Coverage does not tell whether the rate of the newest hour is still
   * awaited, so that one is requested again.
   */
  async function settleFunding(): Promise<number> {
    for (const { from, to } of await missingOf(feedOf('funding', plan.source, symbol), HOUR_MS))
      await requestFunding(parts, { fromMs: Math.floor(from / HOUR_MS) * HOUR_MS, toMs: to })
    const hourMs = Math.floor((range.toMs - 1) / HOUR_MS) * HOUR_MS
    const nowMs = clock.now()
    if (nowMs - hourMs >= FUNDING_LATE_MS) return Number.POSITIVE_INFINITY
    const settledMs = await requestFunding(parts, { fromMs: hourMs, toMs: nowMs })
    return settledMs > hourMs ? Number.POSITIVE_INFINITY : hourMs
  }

  /** When the first unknown sample was due. */
  async function settleInterest(): Promise<number> {
    for (const { from, to } of await missingOf(feedOf('open_interest', plan.source, symbol, '5m'), GRID_MS)) {
      const fromMs = Math.floor(from / GRID_MS) * GRID_MS
      const settledMs = await requestOpenInterest(parts, { fromMs, toMs: to }).catch((error: unknown) => {
        // Candles before the unavailable sample are complete.
        if (fromMs <= range.fromMs) throw error
        interestError = error
        return fromMs
      })
      if (settledMs < to) return Math.ceil(settledMs / GRID_MS) * GRID_MS
    }
    return Number.POSITIVE_INFINITY
  }

  // What was observed may still wait to be written.
  await writer.flush()
  if (plan.hasFunding) toMs = Math.min(toMs, await settleFunding())
  // A candle also gets the sample at its exact end.
  if (plan.openInterest === 'requested') toMs = Math.min(toMs, (await settleInterest()) - lengthMs)
  return { toMs: Math.max(range.fromMs, toMs), error: interestError }
}
