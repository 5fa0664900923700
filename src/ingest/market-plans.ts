/** What is recorded of each venue of prediction markets, as data: channels, stored series, and how they hang together. */
import type { Feed } from '../core/feed.ts'
import { type CandleInterval, storedInterval } from '../core/interval.ts'
import type { VolumeUnit } from '../core/market-bars.ts'
import { MARKET_TYPES, type MarketType } from '../core/rows/market.ts'
import type { AssetSymbol } from '../core/symbol.ts'
import { type Channel, channelKey, type Dataset } from '../venues/channel.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from './plans.ts'
import type { TrackedFeed } from './track-coverage.ts'

/** The bars that all longer ones are made of. */
export const BASE_INTERVAL = '5m' satisfies CandleInterval
/** The past is looked at so far when markets are found that were not followed to their end. */
export const MARKETS_BACK_MS = 26 * 3_600_000

export interface MarketPlan {
  readonly source: 'predmkt_a' | 'predmkt_b'
  readonly datasets: readonly Dataset[]
  readonly volume: VolumeUnit
  /** Up/Down markets have a book per token, yes/no contracts one book. */
  readonly hasTokens: boolean
  readonly hasOpenInterest: boolean
  /** Bars that are still open are shown so often. */
  readonly showEveryMs: number
  /** A market is traded so long before its window, and its early prints may be found only after its close. */
  readonly printsBeforeMs: number
  /** It is followed, and its prints heard, from so long before its window until so long after. */
  readonly followed: { readonly beforeMs: number; readonly afterMs: number }
}

export const MARKET_PLANS: Readonly<Record<'polymarket' | 'kalshi', MarketPlan>> = {
  polymarket: {
    source: 'predmkt_a',
    datasets: ['markets', 'book', 'trades', 'reference_price'],
    volume: 'money',
    hasTokens: true,
    hasOpenInterest: false,
    showEveryMs: 2_000,
    printsBeforeMs: 25 * 3_600_000,
    followed: { beforeMs: 15 * 60_000, afterMs: 3 * 60_000 },
  },
  // Hundreds of strikes: their bars are shown less often.
  kalshi: {
    source: 'predmkt_b',
    datasets: ['markets', 'book', 'trades', 'market_ticker', 'open_interest'],
    volume: 'pieces',
    hasTokens: false,
    hasOpenInterest: true,
    showEveryMs: 10_000,
    printsBeforeMs: 0,
    followed: { beforeMs: 0, afterMs: 0 },
  },
}

export const channelsOfMarkets = (plan: MarketPlan, symbol: AssetSymbol): Channel[] =>
  plan.datasets.map((dataset) => ({ dataset, symbol }))

export function snapshotFeed(plan: MarketPlan, symbol: AssetSymbol, type: MarketType): Feed<'snapshots'> {
  return feedOf('snapshots', plan.source, symbol, storedInterval(type))
}

/** The pseudo channel that is up while every market of a duration that is in its window has a live book. */
export const windowsKey = (symbol: AssetSymbol, type: MarketType): string => `windows:${symbol}:${type}`

/** The pseudo channel that is up while we know which markets there are. */
export const catalogueKey = (symbol: AssetSymbol): string => `catalogue:${symbol}`

export function trackedMarketFeeds(plan: MarketPlan, symbol: AssetSymbol): TrackedFeed[] {
  const key = (dataset: Dataset) => channelKey({ dataset, symbol })
  const prints = [key('trades'), key('book'), catalogueKey(symbol)]
  return [
    ...MARKET_TYPES.map((type) => ({
      feed: snapshotFeed(plan, symbol, type),
      channels: [key('book'), windowsKey(symbol, type)],
    })),
    // Prints may pause for long, books do not: their silence is the only sign that a symbol was muted.
    { feed: feedOf('trades', plan.source, symbol), channels: prints },
    ...COARSE_INTERVALS.map((interval) => ({
      feed: candleFeed(plan.source, symbol, interval),
      channels: prints,
    })),
    ...(plan.hasOpenInterest
      ? COARSE_INTERVALS.map((interval) => ({
          feed: feedOf('open_interest', plan.source, symbol, interval),
          channels: [key('open_interest')],
        }))
      : []),
  ]
}
