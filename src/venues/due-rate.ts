/** Funding rates that are due: until a rate is published or long overdue, nothing is known from its hour on. */
import type { DataObservation } from './observation.ts'
import { VenueError } from './rest/rest-client.ts'

/**
 * Rates are published within seconds of their hour; one was 24 minutes late. If a rate is overdue by more than this,
 * there is none, because not every venue settles a rate every hour.
 */
export const FUNDING_LATE_MS = 30 * 60_000
const HOUR_MS = 3_600_000
/** Longer than a venue needs to publish a settled rate. */
const PUBLISHED_AFTER_MS = 60_000

/** Whether a rate that is not published may still come. */
export const isRateAwaited = (dueMs: number, nowMs: number): boolean =>
  nowMs >= dueMs && nowMs - dueMs < FUNDING_LATE_MS

/**
 * The instant up to which the newest rates are complete; undefined: up to their answer. An answer without a rate does
 * not prove that there was none, so it is a failed one. At the beginning of any hour a rate may be settled and not
 * published, because the period of a contract may have become shorter than the rates before show.
 */
export function ratesKnownTo(newest: readonly DataObservation[]): number | undefined {
  const last = newest.at(-1)
  if (last?.kind !== 'funding') throw new VenueError('no funding rate at all', { isFinal: false })
  const { fundingTimeMs, nextFundingTimeMs, receivedMs } = last
  if (isRateAwaited(nextFundingTimeMs, receivedMs)) return nextFundingTimeMs
  const hourMs = receivedMs - (receivedMs % HOUR_MS)
  return fundingTimeMs < hourMs && receivedMs - hourMs < PUBLISHED_AFTER_MS ? hourMs : undefined
}
