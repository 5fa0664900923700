/** A backfill that the operator starts from the command line: its options and its result, for every kind of venue. */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { Venue } from '../../venues/venue.ts'

export interface ManualBackfill {
  readonly venue: Venue
  readonly store: EnvironmentStore
  readonly symbols: readonly AssetSymbol[]
  readonly fromMs: number
  readonly toMs: number
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly signal?: AbortSignal
  readonly onProgress: (progress: { done: number; total: number; step: string }) => void
}

export interface BackfillResult {
  readonly ranges: number
  readonly failed: number
  readonly rowsInserted: number
  readonly rowsCorrected: number
}
