/**
 * What was observed of the feeds that a venue only streams. Nothing of them can be requested afterwards, and a socket
 * that is open may send nothing: a fault that began before it, perhaps before this process. So they are observed from
 * the first data after a subscription up to the newest data, whatever happens next:
 *
 *   subscribed ──data──▶ observed ──data──▶ observed up to here ──▶ silence, a lost socket, the end of the process
 *                  ╰── not observed before it                  ╰── not observed after it, until data comes
 */
import type { Feed } from '../../core/feed.ts'
import type { Topic } from '../../venues/channel.ts'
import type { DataObservation } from '../../venues/observation.ts'
import { COARSE_INTERVALS, feedOf } from '../shared/feeds.ts'
import type { SymbolParts } from './symbol-parts.ts'

/** The venue collects liquidations for this long before it sends the last one. */
const LIQUIDATION_TRANSIT_MS = 1_000

export type StreamedFeeds = ReturnType<typeof observeStreamed>

interface Streamed {
  readonly feeds: readonly Feed[]
  readonly topics: readonly Topic[]
  /** What proves that they would have come. */
  readonly kinds: readonly DataObservation['kind'][]
  /** How much later than data of the same time they may come. */
  readonly lateMs: number
}

export function observeStreamed({ plan, symbol, tracker }: Pick<SymbolParts, 'plan' | 'symbol' | 'tracker'>) {
  const states = streamedOf(plan, symbol).map((streamed) => ({
    ...streamed,
    /** Data came for the first time since the subscription. */
    firstMs: undefined as number | undefined,
    newestMs: 0,
    isAwaited: true,
  }))
  const byKind = new Map<DataObservation['kind'], typeof states>()
  for (const state of states)
    for (const kind of state.kinds) byKind.set(kind, [...(byKind.get(kind) ?? []), state])

  return {
    /** The channel is subscribed, for the first time or again. */
    begins(topic: Topic): void {
      for (const state of states) if (state.topics.includes(topic)) state.isAwaited = true
    },
    receive({ kind, receivedMs, venueTimeMs }: DataObservation): void {
      const concerned = byKind.get(kind)
      if (concerned === undefined) return
      for (const state of concerned) {
        // What was sent before it has an earlier time, by either clock.
        if (state.isAwaited) state.firstMs = Math.max(receivedMs, venueTimeMs)
        state.isAwaited = false
        state.newestMs = Math.max(state.newestMs, Math.min(receivedMs, venueTimeMs) + 1 - state.lateMs)
      }
    },
    /** Before coverage is extended. */
    show(): void {
      for (const state of states) {
        const { feeds, firstMs, newestMs } = state
        for (const feed of feeds) {
          if (firstMs !== undefined) tracker.startAt(feed, firstMs)
          tracker.limit(feed, newestMs)
        }
        state.firstMs = undefined
      }
    },
  }
}

function streamedOf(plan: SymbolParts['plan'], symbol: SymbolParts['symbol']): Streamed[] {
  const feed = (dataset: Feed['dataset']) => feedOf(dataset, plan.source, symbol)
  const streamed: Streamed[] = []
  if (plan.hasTicker)
    streamed.push({
      ...{ feeds: [feed('ticker')], topics: ['best_bid_ask'], kinds: ['best_bid_ask'], lateMs: 0 },
    })
  if (plan.hasSnapshots)
    streamed.push({ feeds: [feed('snapshots')], topics: ['book'], kinds: ['exchange_book'], lateMs: 0 })
  if (plan.openInterest === 'streamed')
    streamed.push({
      feeds: COARSE_INTERVALS.map((interval) => feedOf('open_interest', plan.source, symbol, interval)),
      ...{ topics: ['open_interest'], kinds: ['open_interest'], lateMs: 0 },
    })
  // Any silence of theirs is normal: candles and trades come over the same socket.
  if (plan.hasLiquidations)
    streamed.push({
      ...{ feeds: [feed('liquidations')], topics: ['liquidations', 'candles'] },
      ...{ kinds: ['liquidation', 'candle', 'aggregate_trade'], lateMs: LIQUIDATION_TRANSIT_MS },
    })
  return streamed
}
