/** What follows from an exchange's plan: the live channels to subscribe to and the stored feeds that they provide. */
import type { Feed, FeedInterval } from '../../core/feed.ts'
import { CANDLE_INTERVALS, type CandleInterval } from '../../core/interval.ts'
import type { Source } from '../../core/source.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Channel, Topic } from '../../venues/channel.ts'
import { channelKey } from '../../venues/channel.ts'
import { COARSE_INTERVALS, type ExchangePlan } from '../../venues/plan.ts'
import type { TrackedFeed } from './feed-coverage.ts'

export type { BackfillStep, ExchangePlan } from '../../venues/plan.ts'
export { COARSE_INTERVALS } from '../../venues/plan.ts'

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

/** Requested data is published some minutes late; later than this is a fault. */
export const REQUESTED_LATE_MS = 10 * 60_000
const REQUESTED = 'asked:'

/** The pseudo channel of data that is requested instead of streamed. */
export const requestedKey = (topic: Topic, symbol: AssetSymbol): string => `${REQUESTED}${topic}:${symbol}`
export const isRequested = (channel: string): boolean => channel.startsWith(REQUESTED)

/** The channels that a plan subscribes to for a symbol. */
export function channelsOf(plan: ExchangePlan, symbol: AssetSymbol): Channel[] {
  const plain = (topic: Topic): Channel => ({ topic, symbol })
  return [
    { topic: 'candles', symbol, interval: '1m' },
    ...(plan.secondsFrom === 'candles' ? [{ topic: 'candles', symbol, interval: '1s' } as const] : []),
    ...(plan.hasFlow || plan.secondsFrom === 'aggregate_trades' ? [plain('aggregate_trades')] : []),
    ...(plan.hasTrades || plan.secondsFrom === 'trades' ? [plain('trades')] : []),
    ...(plan.hasTicker ? [plain('best_bid_ask')] : []),
    ...(plan.hasLiquidations ? [plain('liquidations')] : []),
    ...(plan.hasFunding ? [plain('funding')] : []),
    ...(plan.openInterest === 'streamed' ? [plain('open_interest')] : []),
    // Full books only: the fast book messages have at most five levels, and every row must have all levels.
    ...(plan.hasSnapshots ? [plain('book')] : []),
  ]
}

/** The stored feeds of a symbol, and the channels that must be up for each to be observed. */
export function trackedFeeds(plan: ExchangePlan, symbol: AssetSymbol): TrackedFeed[] {
  const { source } = plan
  const key = (topic: Topic, interval?: CandleInterval) =>
    channelKey(interval === undefined ? { topic, symbol } : { topic, symbol, interval })
  const minute = key('candles', '1m')
  const second = plan.secondsFrom === 'candles' ? key('candles', '1s') : key(plan.secondsFrom)
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
  // Liquidations may be silent for any length of time, so their coverage also depends on the minute candles: a channel
  // of the same socket that is never quiet.
  if (plan.hasLiquidations)
    tracked.push({ feed: feedOf('liquidations', source, symbol), channels: [key('liquidations'), minute] })
  if (plan.hasFunding) tracked.push({ feed: feedOf('funding', source, symbol), channels: [key('funding')] })
  if (plan.openInterest !== 'none') {
    const channel =
      plan.openInterest === 'streamed' ? key('open_interest') : requestedKey('open_interest', symbol)
    for (const interval of COARSE_INTERVALS)
      tracked.push({ feed: feedOf('open_interest', source, symbol, interval), channels: [channel] })
  }
  if (plan.hasSnapshots) tracked.push({ feed: feedOf('snapshots', source, symbol), channels: [key('book')] })
  return tracked
}
