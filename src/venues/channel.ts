/** The topics and channels that can be streamed or requested, in venue-neutral names. */
import type { CandleInterval } from '../core/interval.ts'
import type { AssetSymbol } from '../core/symbol.ts'

const TOPICS = [
  'trades',
  'aggregate_trades',
  'candles',
  'funding',
  'open_interest',
  'liquidations',
  'book',
  'best_bid_ask',
  // Prediction markets: the catalogue, the venue's own summary of a market, the price a market settles on, and two
  // topics that only the history has: midpoints and finer candles.
  'markets',
  'market_ticker',
  'reference_price',
  'mids',
  'contract_candles',
  // Oracles.
  'oracle_rounds',
] as const
export type Topic = (typeof TOPICS)[number]

export interface Channel {
  readonly topic: Topic
  readonly symbol: AssetSymbol
  /** Always set for `candles`, never for other topics. */
  readonly interval?: CandleInterval
}

/** One string per channel, for maps and logs: `candles:BTC:1m`, `trades:ETH`. */
export function channelKey(channel: Channel): string {
  const base = `${channel.topic}:${channel.symbol}`
  return channel.interval === undefined ? base : `${base}:${channel.interval}`
}
