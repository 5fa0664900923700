import type { Interval } from './interval.ts'
import type { Source } from './source.ts'
import type { AssetSymbol } from './symbol.ts'

/** The kinds of series that are stored. The market catalogue is not a series. */
export const DATASETS = [
  'candles',
  'trades',
  'flow',
  'snapshots',
  'open_interest',
  'liquidations',
  'funding',
  'ticker',
] as const
export type Dataset = (typeof DATASETS)[number]

/**
 * The interval of a feed: the length of candles, flow and open interest; the contract duration (`market_type`) of
 * prediction-market snapshots; '' for feeds without an interval.
 */
export type FeedInterval = Exclude<Interval, '24h'> | ''

/** One stored series. Its rows are keyed by (time, instrument, sequence). */
export interface Feed<D extends Dataset = Dataset> {
  readonly dataset: D
  readonly source: Source
  readonly symbol: AssetSymbol
  readonly interval: FeedInterval
}

export function feedName(feed: Feed): string {
  return `${feed.dataset}/${feed.source}/${feed.symbol}/${feed.interval}`
}

const SEVERAL_PER_INSTANT: readonly Dataset[] = ['trades', 'liquidations', 'snapshots']

/** Whether the time alone identifies a row of the feed, without instrument or sequence. */
export function hasOneRowPerInstant({ dataset, source }: Feed): boolean {
  return !SEVERAL_PER_INSTANT.includes(dataset) && source !== 'predmkt_a' && source !== 'predmkt_b'
}
