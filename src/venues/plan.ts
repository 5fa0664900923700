/**
 * What is recorded of a venue, as data: which series it feeds, where its one-second candles come from, and the steps of
 * the first backfill, the most requested first. Each venue's plan is in its folder; the recorders read it.
 */
import type { Dataset, FeedInterval } from '../core/feed.ts'
import type { CandleInterval } from '../core/interval.ts'
import type { VolumeUnit } from '../core/market-candles.ts'
import { keptDays, type RetentionRule } from '../core/retention.ts'
import type { MarketType } from '../core/rows/market.ts'
import type { SettlementPrice } from '../core/settlement.ts'
import type { Source } from '../core/source.ts'
import type { Topic } from './channel.ts'

export type RecordingPlan = ExchangePlan | PredictionPlan | OraclePlan

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** The first backfill reaches back this far, if the venue's history does. */
export const MAX_FIRST_FILL_DAYS = 31
export const MONTH_MS = MAX_FIRST_FILL_DAYS * DAY_MS

/** Rolled up from one-minute candles. */
export const COARSE_INTERVALS = ['5m', '15m', '1h', '4h', '1d'] as const satisfies CandleInterval[]

export type BackfillStep =
  | { readonly kind: 'funding'; readonly backMs: number; readonly chunkMs: number }
  | { readonly kind: 'open_interest'; readonly backMs: number; readonly chunkMs: number }
  /** Aggregate trades, for the counts in flow. */
  | { readonly kind: 'counts'; readonly backMs: number; readonly chunkMs: number }
  | {
      readonly kind: 'candles'
      readonly interval: CandleInterval
      readonly rollUp: readonly CandleInterval[]
      readonly withFlow: boolean
      readonly backMs: number
      /** The newest part, of this length, is left to another step. */
      readonly skipMs: number
      readonly chunkMs: number
    }
  /** One-second candles, only from the time when the recording began: this step fills gaps, not the time before. */
  | { readonly kind: 'seconds'; readonly backMs: number; readonly chunkMs: number }

export interface ExchangePlan {
  readonly kind: 'exchange'
  readonly source: Source
  readonly secondsFrom: 'candles' | 'aggregate_trades' | 'trades'
  readonly hasFlow: boolean
  readonly hasTicker: boolean
  readonly hasTrades: boolean
  readonly hasSnapshots: boolean
  readonly hasLiquidations: boolean
  readonly hasFunding: boolean
  /** `requested`: from the venue's statistics, on their time grid. `streamed`: from its stream. */
  readonly openInterest: 'requested' | 'streamed' | 'none'
  /** Whether the venue's candles have a trade count. */
  readonly hasTradeCounts: boolean
  /**
   * Whether the venue publishes a flat candle for a time without trades; otherwise it leaves it out or publishes it
   * later.
   */
  readonly hasQuietCandles: boolean
  /** Whether candles are served with the share that takers bought. */
  readonly hasTakerBuyRatio: boolean
  /** An aggregate trade contains the fills of a moment, so it may span the end of a minute. */
  readonly aggregatesSpanMinutes: boolean
  /** A minute is requested this long after its end. */
  readonly closeAfterMs: number
  /** How late trades may arrive; after that, a minute that still lacks trades has a gap. */
  readonly lateTradesMs: number
  readonly backfill: readonly BackfillStep[]
}

/** Prediction markets. */
export interface PredictionPlan {
  readonly kind: 'markets'
  readonly source: 'predmkt_a' | 'predmkt_b'
  readonly topics: readonly Topic[]
  readonly volume: VolumeUnit
  /** Up/Down markets have one order book per token; yes/no contracts have a single one. */
  readonly hasTokens: boolean
  readonly hasOpenInterest: boolean
  /** Durations whose windows follow each other without a pause, so that one is always running. */
  readonly endless: readonly MarketType[]
  /** After this time it is known whether the order books of an instant were right. */
  readonly booksFinalAfterMs: number
  /** How often candles that are still open are published. */
  readonly publishEveryMs: number
  /** How long before its window a market is already traded. */
  readonly tradesBeforeMs: number
  /** How long before and after its window a market is followed and its trades are streamed. */
  readonly followed: { readonly beforeMs: number; readonly afterMs: number }
  /** The price that markets of each duration settle on if the venue does not name one. */
  readonly usualSettlement?: Readonly<Record<MarketType, SettlementPrice>>
}

/** Candles are derived from the oracle's answers and the heartbeat in the venue's description. */
export interface OraclePlan {
  readonly kind: 'oracle'
  readonly source: Source
}

/** An exchange of which only candles are recorded; a plan adds whatever else the venue has. */
export const CANDLES_ONLY = {
  kind: 'exchange',
  hasFlow: false,
  hasTicker: false,
  hasTrades: false,
  hasSnapshots: false,
  hasLiquidations: false,
  hasFunding: false,
  openInterest: 'none',
  hasTradeCounts: true,
  hasQuietCandles: true,
  hasTakerBuyRatio: false,
  aggregatesSpanMinutes: false,
  closeAfterMs: 2_000,
  lateTradesMs: 20_000,
} as const

/** A month of one-minute candles and everything that is rolled up from them. */
export const minutesStep = (withFlow: boolean): BackfillStep => ({
  kind: 'candles',
  interval: '1m',
  rollUp: COARSE_INTERVALS,
  withFlow,
  backMs: MONTH_MS,
  skipMs: 0,
  chunkMs: DAY_MS,
})

/** A month of the venue's own candles of one interval, and what is rolled up from them. */
export const candlesStep = (
  interval: CandleInterval,
  rollUp: readonly CandleInterval[] = [],
  skipMs = 0,
): BackfillStep => ({
  kind: 'candles',
  interval,
  rollUp,
  withFlow: false,
  backMs: MONTH_MS,
  skipMs,
  chunkMs: MONTH_MS,
})

/**
 * Limits the first backfill to `days`, and further where retention deletes one of its series sooner, because deleted
 * rows would be requested again at every start.
 */
export function withinDays<P extends RecordingPlan>(
  plan: P,
  days: number,
  retention: readonly RetentionRule[] = [],
): P {
  if (plan.kind !== 'exchange') return plan
  const wanted = days >= MAX_FIRST_FILL_DAYS ? Number.POSITIVE_INFINITY : days
  const backfill = plan.backfill.map((step) => {
    const kept = filledBy(step).map(({ dataset, interval }) =>
      keptDays(retention, { dataset, interval, source: plan.source }),
    )
    // One day less than is kept, because a step begins with a whole day.
    const most = kept.flatMap((each) => (each === null ? [] : Math.max(1, each - 1)))
    return { ...step, backMs: Math.min(step.backMs, Math.min(wanted, ...most) * DAY_MS) }
  })
  const isSame = backfill.every(({ backMs }, at) => backMs === plan.backfill[at]?.backMs)
  return isSame ? plan : { ...plan, backfill }
}

function filledBy(step: BackfillStep): { dataset: Dataset; interval: FeedInterval }[] {
  const of = (dataset: Dataset, interval: FeedInterval) => ({ dataset, interval })
  switch (step.kind) {
    case 'funding':
      return [of('funding', '')]
    case 'open_interest':
      return [of('open_interest', '5m')]
    case 'counts':
      return [of('flow', '1m')]
    case 'seconds':
      return [of('candles', '1s')]
    case 'candles':
      return [step.interval, ...step.rollUp].flatMap((interval) => [
        of('candles', interval),
        ...(step.withFlow ? [of('flow', interval)] : []),
      ])
  }
}
