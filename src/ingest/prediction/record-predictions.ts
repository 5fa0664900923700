/** Records one prediction venue: Up/Down markets or yes/no contracts, depending on its plan. */
import type { AssetSymbol } from '../../core/symbol.ts'
import { auditPredictions } from '../audit/audit-predictions.ts'
import type { BackfillPace } from '../shared/backfill-pace.ts'
import {
  CONNECTS_WITHIN_MS,
  type RecorderOptions,
  type RecorderRun,
  recordedSymbols,
  recordVenue,
} from '../shared/record-venue.ts'
import type { Recorder } from '../shared/recorder.ts'
import { followUnresolvedMarkets } from './follow-unresolved-markets.ts'
import {
  channelsOfMarkets,
  MARKETS_BACK_MS,
  type PredictionPlan,
  trackedMarketFeeds,
} from './market-feeds.ts'
import { type MarketsRecorder, recordMarkets } from './record-markets.ts'
import { createMarketWriter } from './write-markets.ts'

const CATALOGUE_EVERY_MS = 500

export interface PredictionsOptions extends RecorderOptions {
  readonly plan: PredictionPlan
  readonly pace?: BackfillPace | undefined
}

export function recordPredictions(options: PredictionsOptions): Recorder {
  const { plan, venue, store, clock, log, pace } = options
  const symbols = recordedSymbols(options)
  const feeds = symbols.flatMap((symbol) => trackedMarketFeeds(plan, symbol))
  let catalogue = createMarketWriter({ store, log })
  let recorders: ReadonlyMap<AssetSymbol, MarketsRecorder> = new Map()

  async function open({ rows: writer, tracker, startMs, signal }: RecorderRun) {
    catalogue = createMarketWriter({ store, log })
    const parts = { plan, venue, store, writer, catalogue, tracker, clock, log, signal, pace }
    recorders = new Map(symbols.map((symbol) => [symbol, recordMarkets({ ...parts, symbol })]))
    // Live recording cannot request past books or past open interest.
    for (const { feed } of feeds)
      if (feed.dataset === 'snapshots' || feed.dataset === 'open_interest')
        tracker.unlessKnown(feed, startMs - MARKETS_BACK_MS, startMs + CONNECTS_WITHIN_MS, 'not_provided')
    return recorders
  }

  async function meanwhile({ signal }: RecorderRun): Promise<void> {
    const onError = (error: unknown) =>
      log.warn({ venue: venue.describe.name, err: error }, 'markets of the past were not found')
    const unresolved = [...recorders].map(([symbol, recorder]) =>
      followUnresolvedMarkets({
        ...{ plan, symbol, venue, clock, signal, onError },
        markets: store.markets,
        series: store.series,
        coverage: store.coverage,
        onMarket: (market) => recorder.unresolved(market),
        isFollowed: (marketId) => recorder.isFollowed(marketId),
        onRunning: (running) => recorder.expect(running),
        onListed: () => recorder.listedUnresolved(),
      }).catch((error) => {
        if (!signal.aborted) onError(error)
      }),
    )
    while (!signal.aborted) {
      await catalogue.flush()
      await clock.sleep(CATALOGUE_EVERY_MS, signal).catch(() => {})
    }
    await Promise.all(unresolved)
    await catalogue.flush()
  }

  const sum = (of: (recorder: MarketsRecorder) => number) =>
    [...recorders.values()].reduce((total, recorder) => total + of(recorder), 0)

  return recordVenue(options, {
    // Topics that are switched off have no channel to wait for.
    channels: symbols
      .flatMap((symbol) => channelsOfMarkets(plan, symbol))
      .filter(({ topic }) => Object.hasOwn(venue.describe.live, topic)),
    feeds,
    hasSnapshots: true,
    open,
    meanwhile,
    audits: ({ rows, tracker, signal }) => auditPredictions({ ...options, symbols, rows, tracker, signal }),
    counts: () => ({
      markets: sum((recorder) => recorder.size),
      unlisted: sum((recorder) => recorder.unlisted),
      emptyTrades: sum((recorder) => recorder.emptyTrades),
    }),
  })
}
