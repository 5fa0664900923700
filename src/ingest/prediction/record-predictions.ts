/** Records one venue of prediction markets: Up/Down markets or yes/no contracts, depending on its plan. */
import { type AssetSymbol, SYMBOLS } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { LiveOptions, Venue } from '../../venues/venue.ts'
import type { BackfillPace } from '../shared/backfill-pace.ts'
import { openRowWriter } from '../shared/open-row-writer.ts'
import type { Recorder } from '../shared/recorder.ts'
import { recordedFeeds, recorderStatus } from '../shared/recorder-status.ts'
import { type LiveRun, runLive } from '../shared/run-live.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import type { RowWriter } from '../shared/write-rows.ts'
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
/** The time until the sockets are open counts as not provided, unless data of that time arrives. */
const CONNECTS_WITHIN_MS = 3_000

export interface PredictionsOptions {
  readonly plan: PredictionPlan
  readonly venue: Venue
  readonly store: EnvironmentStore
  readonly clock: Clock
  readonly log: Logger
  readonly symbols?: readonly AssetSymbol[]
  readonly pace?: BackfillPace | undefined
  readonly maxSilenceMs?: LiveOptions['maxSilenceMs']
}

export function recordPredictions(options: PredictionsOptions): Recorder {
  const { plan, venue, store, clock, log } = options
  const symbols = (options.symbols ?? SYMBOLS).filter((symbol) =>
    Object.hasOwn(venue.describe.symbols, symbol),
  )
  const feeds = symbols.flatMap((symbol) => trackedMarketFeeds(plan, symbol))
  const recorded = recordedFeeds(venue, feeds)
  let recorders: ReadonlyMap<AssetSymbol, MarketsRecorder> = new Map()
  let writer: RowWriter | undefined
  let live: LiveRun | undefined
  let insertedBefore = 0

  async function run(signal: AbortSignal): Promise<void> {
    const rows = openRowWriter({ venue, store, clock, log })
    writer = rows
    const tracker = createCoverageTracker({ feeds, coverage: store.coverage, writer: rows })
    const catalogue = createMarketWriter({ store, log })
    const startMs = clock.now()
    const stop = new AbortController()
    const ending = AbortSignal.any([signal, stop.signal])
    const parts = {
      plan,
      venue,
      store,
      writer: rows,
      catalogue,
      tracker,
      clock,
      log,
      signal: ending,
      pace: options.pace,
    }
    recorders = new Map(symbols.map((symbol) => [symbol, recordMarkets({ ...parts, symbol })]))
    // No venue publishes past books.
    for (const { feed } of feeds)
      if (feed.dataset === 'snapshots' || feed.dataset === 'open_interest')
        tracker.unlessKnown(feed, startMs - MARKETS_BACK_MS, startMs + CONNECTS_WITHIN_MS, 'not_provided')
    live = runLive({
      venue,
      // Topics that are switched off are not waited for.
      channels: symbols
        .flatMap((symbol) => channelsOfMarkets(plan, symbol))
        .filter(({ topic: dataset }) => Object.hasOwn(venue.describe.live, dataset)),
      hasSnapshots: true,
      recorders,
      tracker,
      writer: rows,
      clock,
      log,
      signal: ending,
      ...(options.maxSilenceMs === undefined ? {} : { maxSilenceMs: options.maxSilenceMs }),
    })
    const onError = (error: unknown) =>
      log.warn({ venue: venue.describe.name, err: error }, 'markets of the past were not found')
    const unresolved = [...recorders].map(([symbol, recorder]) =>
      followUnresolvedMarkets({
        plan,
        symbol,
        venue,
        markets: store.markets,
        clock,
        signal: ending,
        onMarket: (market) => recorder.unresolved(market),
        onListed: () => recorder.listedUnresolved(),
        onError,
      }).catch((error) => {
        if (!ending.aborted) onError(error)
      }),
    )
    const writing = writeCatalogue(catalogue.flush, ending)
    try {
      await live.done
    } finally {
      stop.abort()
      await live.close()
      await Promise.all([...unresolved, writing])
      await catalogue.flush()
      insertedBefore += rows.stats().inserted
      await rows.close().catch((error) => log.error({ err: error }, 'the last rows were not written'))
    }
  }

  async function writeCatalogue(flush: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await flush()
      await clock.sleep(CATALOGUE_EVERY_MS, signal).catch(() => {})
    }
  }

  return {
    name: venue.describe.name,
    source: plan.source,
    run,
    status: () =>
      recorderStatus({
        venue,
        source: plan.source,
        live,
        writer,
        insertedBefore,
        feeds: recorded,
        counts: {
          markets: [...recorders.values()].reduce((sum, recorder) => sum + recorder.size, 0),
          unlisted: [...recorders.values()].reduce((sum, recorder) => sum + recorder.unlisted, 0),
          emptyTrades: [...recorders.values()].reduce((sum, recorder) => sum + recorder.emptyTrades, 0),
        },
      }),
  }
}
