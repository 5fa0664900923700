/** What can be listened to or asked for, in venue-neutral names. */
import type { CandleInterval } from '../core/interval.ts'
import type { AssetSymbol } from '../core/symbol.ts'

export const TOPICS = [
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
  // Prediction markets: the catalogue, the venue's own summary of a market, the price a market settles on,
  // midpoints and finer bars that can only be asked for.
  'markets',
  'market_ticker',
  'reference_price',
  'mids',
  'contract_bars',
  // Oracles.
  'oracle_rounds',
] as const
export type Topic = (typeof TOPICS)[number]

export interface Channel {
  readonly topic: Topic
  readonly symbol: AssetSymbol
  /** Only, and always, with `klines`. */
  readonly interval?: CandleInterval
}

/** One text per channel, for maps and logs: `klines:BTC:1m`, `trades:ETH`. */
export function channelKey(channel: Channel): string {
  const base = `${channel.topic}:${channel.symbol}`
  return channel.interval === undefined ? base : `${base}:${channel.interval}`
}
