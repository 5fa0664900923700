/** What can be listened to or asked for, in venue-neutral names. */
import type { CandleInterval } from '../core/interval.ts'
import type { AssetSymbol } from '../core/symbol.ts'

export const DATASETS = [
  'trades',
  'aggregate_trades',
  'klines',
  'mark',
  'funding',
  'open_interest',
  'liquidations',
  'book',
  'book_fast',
  'book_diff',
  'best_bid_ask',
] as const
export type Dataset = (typeof DATASETS)[number]

export interface Channel {
  readonly dataset: Dataset
  readonly symbol: AssetSymbol
  /** Only, and always, with `klines`. */
  readonly interval?: CandleInterval
}

/** One text per channel, for maps and logs: `klines:BTC:1m`, `trades:ETH`. */
export function channelKey(channel: Channel): string {
  const base = `${channel.dataset}:${channel.symbol}`
  return channel.interval === undefined ? base : `${base}:${channel.interval}`
}
