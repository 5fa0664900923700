/**
 * What is recorded of each exchange, as data: which live channel feeds which stored series, where the bars of a
 * second come from, and which steps the first backfill takes, the most wanted first.
 */

import type { Feed, FeedInterval } from '../core/feed.ts'
import { CANDLE_INTERVALS, type CandleInterval } from '../core/interval.ts'
import type { Source } from '../core/source.ts'
import type { AssetSymbol } from '../core/symbol.ts'
import type { Channel, Dataset } from '../venues/channel.ts'
import { channelKey } from '../venues/channel.ts'
import type { TrackedFeed } from './track-coverage.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Rolled up from bars of a minute. */
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
      readonly chunkMs: number
    }
  /** Bars of a second, only where the recording had begun: a hole, not the past. */
  | { readonly kind: 'seconds'; readonly backMs: number; readonly chunkMs: number }

export interface ExchangePlan {
  readonly source: Source
  readonly secondsFrom: 'klines' | 'aggregate_trades' | 'trades'
  readonly hasFlow: boolean
  readonly hasTicker: boolean
  readonly hasTrades: boolean
  readonly hasSnapshots: boolean
  readonly hasLiquidations: boolean
  readonly hasFunding: boolean
  /** `asked`: from the venue's statistics, on their grid. `heard`: from the stream. */
  readonly openInterest: 'asked' | 'heard' | 'none'
  /** A minute is asked for so long after its end. */
  readonly closeAfterMs: number
  /** Trades may come so late; then a minute that lacks some has a hole. */
  readonly lateTradesMs: number
  readonly backfill: readonly BackfillStep[]
}

const MONTH_MS = 31 * DAY_MS
const minutes = (withFlow: boolean): BackfillStep => ({
  kind: 'candles',
  interval: '1m',
  rollUp: COARSE_INTERVALS,
  withFlow,
  backMs: MONTH_MS,
  chunkMs: DAY_MS,
})
const native = (
  interval: CandleInterval,
  rollUp: readonly CandleInterval[],
  chunkMs: number,
): BackfillStep => ({
  kind: 'candles',
  interval,
  rollUp,
  withFlow: false,
  backMs: MONTH_MS,
  chunkMs,
})

const NOTHING = {
  hasFlow: false,
  hasTicker: false,
  hasTrades: false,
  hasSnapshots: false,
  hasLiquidations: false,
  hasFunding: false,
  openInterest: 'none',
  closeAfterMs: 2_000,
  lateTradesMs: 20_000,
} as const

export const EXCHANGE_PLANS: Readonly<Record<string, ExchangePlan>> = {
  'binance-spot': {
    ...NOTHING,
    source: 'cexa',
    secondsFrom: 'klines',
    hasFlow: true,
    hasTicker: true,
    backfill: [
      { kind: 'counts', backMs: 6 * HOUR_MS, chunkMs: HOUR_MS },
      minutes(true),
      { kind: 'seconds', backMs: DAY_MS, chunkMs: HOUR_MS },
    ],
  },
  'binance-futures': {
    ...NOTHING,
    source: 'cexa_futures',
    secondsFrom: 'aggregate_trades',
    hasTicker: true,
    hasLiquidations: true,
    hasFunding: true,
    openInterest: 'asked',
    backfill: [
      { kind: 'funding', backMs: MONTH_MS + DAY_MS, chunkMs: MONTH_MS },
      { kind: 'open_interest', backMs: MONTH_MS, chunkMs: DAY_MS },
      minutes(false),
      { kind: 'seconds', backMs: DAY_MS - HOUR_MS, chunkMs: 10 * MINUTE_MS },
    ],
  },
  // Its budget is small: what most people ask for comes first.
  hyperliquid: {
    ...NOTHING,
    source: 'perpdex',
    secondsFrom: 'trades',
    hasTrades: true,
    hasSnapshots: true,
    hasFunding: true,
    openInterest: 'heard',
    closeAfterMs: 4_000,
    backfill: [
      { kind: 'funding', backMs: MONTH_MS + DAY_MS, chunkMs: 20 * DAY_MS },
      native('1h', ['4h', '1d'], 32 * DAY_MS),
      native('15m', [], 15 * DAY_MS),
      native('5m', [], 5 * DAY_MS),
      native('1m', [], DAY_MS),
    ],
  },
}

export const candleFeed = (
  source: Source,
  symbol: AssetSymbol,
  interval: CandleInterval,
): Feed<'candles'> => ({
  dataset: 'candles',
  source,
  symbol,
  interval,
})

export function feedOf<D extends Feed['dataset']>(
  dataset: D,
  source: Source,
  symbol: AssetSymbol,
  interval: FeedInterval = '',
): Feed<D> {
  return { dataset, source, symbol, interval }
}

/** The pseudo channel of data that is asked for, not heard. */
export const askedKey = (dataset: Dataset, symbol: AssetSymbol): string => `asked:${dataset}:${symbol}`

/** The channels that a plan listens to for a symbol. */
export function channelsOf(plan: ExchangePlan, symbol: AssetSymbol): Channel[] {
  const plain = (dataset: Dataset): Channel => ({ dataset, symbol })
  return [
    { dataset: 'klines', symbol, interval: '1m' },
    ...(plan.secondsFrom === 'klines' ? [{ dataset: 'klines', symbol, interval: '1s' } as const] : []),
    ...(plan.hasFlow || plan.secondsFrom === 'aggregate_trades' ? [plain('aggregate_trades')] : []),
    ...(plan.hasTrades || plan.secondsFrom === 'trades' ? [plain('trades')] : []),
    ...(plan.hasTicker ? [plain('best_bid_ask')] : []),
    ...(plan.hasLiquidations ? [plain('liquidations')] : []),
    ...(plan.hasFunding ? [plain('funding')] : []),
    ...(plan.openInterest === 'heard' ? [plain('open_interest')] : []),
    ...(plan.hasSnapshots ? [plain('book'), plain('book_fast')] : []),
  ]
}

/** Which stored feeds a symbol has, and what must be up for each to be observed. */
export function trackedFeeds(plan: ExchangePlan, symbol: AssetSymbol): TrackedFeed[] {
  const { source } = plan
  const key = (dataset: Dataset, interval?: CandleInterval) =>
    channelKey(interval === undefined ? { dataset, symbol } : { dataset, symbol, interval })
  const minute = key('klines', '1m')
  const second = plan.secondsFrom === 'klines' ? key('klines', '1s') : key(plan.secondsFrom)
  const tracked: TrackedFeed[] = CANDLE_INTERVALS.map((interval) => ({
    feed: candleFeed(source, symbol, interval),
    channels: [interval === '1s' ? second : minute],
  }))
  if (plan.hasFlow) {
    for (const interval of COARSE_INTERVALS)
      tracked.push({ feed: feedOf('flow', source, symbol, interval), channels: [minute] })
  }
  if (plan.hasTicker)
    tracked.push({ feed: feedOf('ticker', source, symbol), channels: [key('best_bid_ask')] })
  if (plan.hasTrades) tracked.push({ feed: feedOf('trades', source, symbol), channels: [key('trades')] })
  // Any silence of liquidations is normal, so they share the fate of a channel of the same socket that never rests.
  if (plan.hasLiquidations)
    tracked.push({ feed: feedOf('liquidations', source, symbol), channels: [key('liquidations'), minute] })
  if (plan.hasFunding) tracked.push({ feed: feedOf('funding', source, symbol), channels: [key('funding')] })
  if (plan.openInterest !== 'none') {
    const channel = plan.openInterest === 'heard' ? key('open_interest') : askedKey('open_interest', symbol)
    for (const interval of COARSE_INTERVALS)
      tracked.push({ feed: feedOf('open_interest', source, symbol, interval), channels: [channel] })
  }
  if (plan.hasSnapshots)
    tracked.push({ feed: feedOf('snapshots', source, symbol), channels: [key('book_fast')] })
  return tracked
}
