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
  /** Trades, single and aggregate, that were taken in. */
  trades: number
  /** Candles of the stream that the venue's own answer contradicted. */
  differences: number
  /** Trades that came after their candle was closed. */
  lateTrades: number
  /** Minutes in which trades are missing. */
  missedMinutes: number
  /** Empty trades, which count for no candle. */
  emptyTrades: number
}

export const noCounts = (): IngestCounts => ({
  ...{ trades: 0, differences: 0, lateTrades: 0, missedMinutes: 0, emptyTrades: 0 },
})
