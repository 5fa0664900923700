/**
 * What is recorded of a venue, as data: which series it feeds, where the candles of a second come from, and which
 * steps the first backfill takes, the most requested first. A venue's plan is in its folder; the recorders read it.
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
/** The first backfill reaches back so far, where the venue does. */
export const MAX_FIRST_FILL_DAYS = 31
export const MONTH_MS = MAX_FIRST_FILL_DAYS * DAY_MS

/** Rolled up from candles of a minute. */
export const COARSE_INTERVALS = ['5m', '15m', '1h', '4h', '1d'] as const satisfies CandleInterval[]

export type BackfillStep =
  | { readonly kind: 'funding'; readonly backMs: number; readonly chunkMs: number }
  | { readonly kind: 'open_interest'; readonly backMs: number; readonly chunkMs: number }
  /** Aggregate trades, for the counts of flow. */
  | { readonly kind: 'counts'; readonly backMs: number; readonly chunkMs: number }
  | {
      readonly kind: 'candles'
      readonly interval: CandleInterval
      readonly rollUp: readonly CandleInterval[]
      readonly withFlow: boolean
      readonly backMs: number
      /** The newest part of this length belongs to another step: this one is for longer requests. */
      readonly skipMs: number
      readonly chunkMs: number
    }
  /** Candles of a second, only where the recording had begun: to fill a gap, not the past. */
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
  /** `requested`: from the venue's statistics, on their grid. `streamed`: from its stream. */
  readonly openInterest: 'requested' | 'streamed' | 'none'
  /** Its candles count their trades. */
  readonly hasTradeCounts: boolean
  /** It publishes a flat candle for a time without trades; otherwise it leaves it out, or publishes it later. */
  readonly hasQuietCandles: boolean
  /** Candles are served with the share that takers bought. */
  readonly hasTakerBuyRatio: boolean
  /** An aggregate trade holds the fills of a moment, so one may span the end of a minute. */
  readonly aggregatesSpanMinutes: boolean
  /** A minute is requested so long after its end. */
  readonly closeAfterMs: number
  /** Trades may come so late; then a minute that lacks some has a gap. */
  readonly lateTradesMs: number
  readonly backfill: readonly BackfillStep[]
}

/** Prediction markets. */
export interface PredictionPlan {
  readonly kind: 'markets'
  readonly source: 'predmkt_a' | 'predmkt_b'
  readonly topics: readonly Topic[]
  readonly volume: VolumeUnit
  /** Up/Down markets have a book per token, yes/no contracts one book. */
  readonly hasTokens: boolean
  readonly hasOpenInterest: boolean
  /** Durations whose windows follow each other without a pause: there is always one that runs. */
  readonly endless: readonly MarketType[]
  /** By then it is known whether the books of an instant were right. */
  readonly booksFinalAfterMs: number
  /** Candles that are still open are published so often. */
  readonly publishEveryMs: number
  /** A market is traded so long before its window. */
  readonly tradesBeforeMs: number
  /** It is followed, and its trades are streamed, from so long before its window until so long after. */
  readonly followed: { readonly beforeMs: number; readonly afterMs: number }
  /** The price that a market of a duration settles on when the venue does not name one. */
  readonly usualSettlement?: Readonly<Record<MarketType, SettlementPrice>>
}

/** Its candles follow from its answers and the heartbeat in the venue's description. */
export interface OraclePlan {
  readonly kind: 'oracle'
  readonly source: Source
}

/** An exchange of which only candles are recorded; a plan adds what else there is. */
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

/** A month of minutes and all that is rolled up from them. */
export const minutesStep = (withFlow: boolean): BackfillStep => ({
  kind: 'candles',
  interval: '1m',
  rollUp: COARSE_INTERVALS,
  withFlow,
  backMs: MONTH_MS,
  skipMs: 0,
  chunkMs: DAY_MS,
})

/** A month of candles of one length, as the venue has them, and what is rolled up from them. */
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
 * The plan with a first backfill that reaches back so many days at most, and not to where one of its series is deleted
 * again: it would be requested at every start.
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
    // A step begins with a whole day.
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
