/** What all parts of a prediction venue share. */
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { FaultSwitches, FaultVenue } from '../server/faults.ts'
import type { PredictionWorld } from './world/venue-world.ts'

export const PREDICTION_VENUES = ['polymarket', 'kalshi', 'ethereum'] as const

export interface PredictionVenue {
  readonly world: PredictionWorld
  readonly faults: FaultSwitches
  /** The venue's own clock, which a fault may move. */
  now(): number
}

/** The venue with data from some time ago. */
export const laggingBy = (venue: PredictionVenue, lagMs: number): PredictionVenue =>
  lagMs === 0 ? venue : { ...venue, now: () => venue.now() - lagMs }

/** Whether the catalogue contains a market, as far as faults decide it. */
export function isInCatalogue(
  { faults }: PredictionVenue,
  venue: FaultVenue,
  { symbol, beginsMs }: { symbol: AssetSymbol; beginsMs: number },
): boolean {
  const fault = faults.find('delisted', venue, { channel: '', symbol })
  return fault === undefined || beginsMs < fault.startedAtMs
}

const LATE_RESOLUTION_MS = 600_000

/** When a market settles, including the delay that was in force when it was due. */
export function delayedMs(
  faults: FaultSwitches,
  venue: FaultVenue,
  symbol: AssetSymbol,
  dueMs: number,
): number {
  const late = faults
    .history('late-resolution', venue)
    .findLast(
      (fault) =>
        (fault.symbol === undefined || fault.symbol === symbol) &&
        fault.startedAtMs <= dueMs &&
        (fault.endsAtMs === null || dueMs < fault.endsAtMs),
    )
  return late === undefined ? dueMs : dueMs + (late.delayMs ?? LATE_RESOLUTION_MS)
}
