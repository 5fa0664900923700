/** What the recorders of one symbol at one venue share. */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { SeriesStore } from '../../store/series.ts'
import type { Venue } from '../../venues/venue.ts'
import type { ExchangePlan } from '../shared/feeds.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import type { Derivatives } from './join-derivatives.ts'

export interface SymbolParts {
  readonly plan: ExchangePlan
  readonly venue: Venue
  readonly symbol: AssetSymbol
  readonly series: SeriesStore
  readonly writer: RowWriter
  readonly tracker: CoverageTracker
  /** Undefined for a spot market. */
  readonly derivatives: Derivatives | undefined
  readonly counts: IngestCounts
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal
}

export interface IngestCounts {
  /** Single and aggregate trades that were received. */
  trades: number
  /** Candles for which the stream, the trades and the venue's own answer disagreed. */
  differences: number
  /** Trades that arrived after their candle was closed. */
  lateTrades: number
  /** Minutes whose trades could not be proven complete. */
  missedMinutes: number
  /** Empty trades, which count for no candle. */
  emptyTrades: number
}

export const noCounts = (): IngestCounts => ({
  ...{ trades: 0, differences: 0, lateTrades: 0, missedMinutes: 0, emptyTrades: 0 },
})
