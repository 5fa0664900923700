/**
 * Coverage of the feeds that a venue only streams. They cannot be requested afterwards, and an open socket may send
 * nothing because of a fault that began before it was opened, perhaps before this process started. So these feeds count
 * as observed only from the first data after a subscription up to the newest data, whatever happens next:
 *
 *   subscribed ──data──▶ observed ──data──▶ observed up to here ──▶ silence, a lost socket, the end of the process
 *                  ╰── not observed before it                  ╰── not observed after it, until data arrives
 *
 * After an unreadable message, too, nothing counts as observed from the last data before it to the first after it.
 */
import type { Feed } from '../../core/feed.ts'
import type { Topic } from '../../venues/channel.ts'
import type { DataObservation } from '../../venues/observation.ts'
import { LIQUIDATION_TRANSIT_MS, MAX_TRANSIT_MS } from '../shared/dispatch-observations.ts'
import { COARSE_INTERVALS, feedOf } from '../shared/feeds.ts'
import type { SymbolParts } from './symbol-parts.ts'

export type StreamedFeeds = ReturnType<typeof observeStreamed>

interface Streamed {
  readonly feeds: readonly Feed[]
  /** Topics whose new subscription interrupts coverage; empty if other data proves the feeds. */
  readonly topics: readonly Topic[]
  /**
   * Observations that prove that the feeds would have been received, and how much later data of the feeds may arrive.
   */
  readonly lateMs: Partial<Record<DataObservation['kind'], number>>
}

export function observeStreamed({ plan, symbol, tracker }: Pick<SymbolParts, 'plan' | 'symbol' | 'tracker'>) {
  const states = streamedOf(plan, symbol).map((streamed) => ({
    ...streamed,
    /** Time of the first data since the subscription. */
    firstMs: undefined as number | undefined,
    newestMs: 0,
    /** Up to when the feeds were proven when a message may have been lost; undefined once the next one has come. */
    doubtedFromMs: undefined as number | undefined,
    isAwaited: streamed.topics.length > 0,
  }))
  // A socket may be lost before the first tick, so nothing counts as observed until then.
  for (const { feeds } of states) for (const feed of feeds) tracker.limit(feed, 0)
  const byKind = new Map<string, typeof states>()
  for (const state of states)
    for (const kind of Object.keys(state.lateMs)) byKind.set(kind, [...(byKind.get(kind) ?? []), state])

  return {
    /** The channel is subscribed, for the first time or again. */
    begins(topic: Topic): void {
      for (const state of states) if (state.topics.includes(topic)) state.isAwaited = true
    },
    /** A message of the channel may have been lost, so nothing is known from the last one to the next. */
    doubted(topic: Topic): void {
      for (const state of states)
        if (state.topics.includes(topic) && !state.isAwaited) state.doubtedFromMs ??= state.newestMs
    },
    receive({ kind, receivedMs, venueTimeMs }: DataObservation): void {
      const concerned = byKind.get(kind)
      if (concerned === undefined) return
      for (const state of concerned) {
        // Whatever was sent before this has an earlier time on both clocks.
        const sinceMs = Math.max(receivedMs, venueTimeMs)
        if (state.isAwaited) state.firstMs = sinceMs
        else if (state.doubtedFromMs !== undefined)
          for (const feed of state.feeds) tracker.unproven(feed, state.doubtedFromMs, sinceMs)
        state.isAwaited = false
        state.doubtedFromMs = undefined
        const provenMs = Math.min(receivedMs, venueTimeMs) + 1 - (state.lateMs[kind] ?? 0)
        state.newestMs = Math.max(state.newestMs, provenMs)
      }
    },
    /** Called before coverage is extended. `waitingMs`: the time per dataset from which rows have not been put yet. */
    show(waitingMs: Partial<Record<Feed['dataset'], number>> = {}): void {
      for (const state of states) {
        const { feeds, firstMs, newestMs } = state
        for (const feed of feeds) {
          if (firstMs !== undefined) tracker.startAt(feed, firstMs)
          tracker.limit(feed, Math.min(newestMs, waitingMs[feed.dataset] ?? newestMs))
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
    streamed.push({ feeds: [feed('ticker')], topics: ['best_bid_ask'], lateMs: { best_bid_ask: 0 } })
  if (plan.hasSnapshots)
    streamed.push({ feeds: [feed('snapshots')], topics: ['book'], lateMs: { exchange_book: 0 } })
  if (plan.openInterest === 'streamed')
    streamed.push({
      feeds: COARSE_INTERVALS.map((interval) => feedOf('open_interest', plan.source, symbol, interval)),
      ...{ topics: ['open_interest'], lateMs: { open_interest: 0 } },
    })
  // Minutes may pass without a trade, but candles, books and open interest come over the same socket.
  if (plan.hasTrades) {
    const lateMs = MAX_TRANSIT_MS
    streamed.push({
      ...{ feeds: [feed('trades')], topics: [] },
      lateMs: { trade: 0, candle: lateMs, exchange_book: lateMs, open_interest: lateMs },
    })
  }
  // Liquidations may be silent for any length of time, but candles and trades come over the same socket.
  if (plan.hasLiquidations) {
    const lateMs = LIQUIDATION_TRANSIT_MS
    streamed.push({
      ...{ feeds: [feed('liquidations')], topics: ['liquidations', 'candles'] },
      lateMs: { liquidation: lateMs, candle: lateMs, aggregate_trade: lateMs },
    })
  }
  return streamed
}
