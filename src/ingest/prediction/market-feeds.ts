/**
 * What follows from the plan of a prediction venue: its channels, its stored feeds, and which channels a feed needs.
 */
import type { Feed } from '../../core/feed.ts'
import { type CandleInterval, storedInterval } from '../../core/interval.ts'
import { MARKET_TYPES, type MarketType } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { type Channel, channelKey, type Topic } from '../../venues/channel.ts'
import type { PredictionPlan } from '../../venues/plan.ts'
import type { TrackedFeed } from '../shared/feed-coverage.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../shared/feeds.ts'

/** All longer candles are built from these. */
export const BASE_INTERVAL = '5m' satisfies CandleInterval
/** How far back markets that were not followed to their end are searched for. */
export const MARKETS_BACK_MS = 26 * 3_600_000

export type { PredictionPlan } from '../../venues/plan.ts'

export const channelsOfMarkets = (plan: PredictionPlan, symbol: AssetSymbol): Channel[] =>
  plan.topics.map((topic) => ({ topic, symbol }))

export function snapshotFeed(plan: PredictionPlan, symbol: AssetSymbol, type: MarketType): Feed<'snapshots'> {
  return feedOf('snapshots', plan.source, symbol, storedInterval(type))
}

export const candleFeeds = (plan: PredictionPlan, symbol: AssetSymbol): Feed[] =>
  COARSE_INTERVALS.map((interval) => candleFeed(plan.source, symbol, interval))

/** The pseudo channel that is up while every market of a duration that is in its window has a live book. */
export const windowsKey = (symbol: AssetSymbol, type: MarketType): string => `windows:${symbol}:${type}`

/** The pseudo channel that is up while we know which markets exist. */
export const catalogueKey = (symbol: AssetSymbol): string => `catalogue:${symbol}`

export function trackedMarketFeeds(plan: PredictionPlan, symbol: AssetSymbol): TrackedFeed[] {
  const key = (topic: Topic) => channelKey({ topic, symbol })
  const trades = [key('trades'), key('book'), catalogueKey(symbol)]
  return [
    ...MARKET_TYPES.map((type) => ({
      feed: snapshotFeed(plan, symbol, type),
      channels: [key('book'), windowsKey(symbol, type)],
    })),
    // Trades may pause for a long time, books do not, so only the silence of books shows that a symbol was muted.
    { feed: feedOf('trades', plan.source, symbol), channels: trades },
    ...candleFeeds(plan, symbol).map((feed) => ({ feed, channels: trades })),
    ...(plan.hasOpenInterest
      ? COARSE_INTERVALS.map((interval) => ({
          feed: feedOf('open_interest', plan.source, symbol, interval),
          // The sum includes every contract, so all of them must be known.
          channels: [key('open_interest'), catalogueKey(symbol)],
        }))
      : []),
  ]
}
