/**
 * Records an on-chain price: candles of 5 and 15 minutes, both from the updates themselves.
 *
 *   oracle_round ──▶ updates ──▶ open candles (each second) ──▶ closed once nothing can change them
 *   venue.history at the start: the rounds of the days before, and of the time that was missed
 *
 * A candle that could be carried by no fresh answer is a gap: the chain or the feed had stopped.
 */
import { type AssetSymbol, SYMBOLS } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import { channelKey } from '../../venues/channel.ts'
import type { LiveOptions, Venue } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import type { LiveRecorder } from '../shared/live-recorder.ts'
import { openRowWriter } from '../shared/open-row-writer.ts'
import type { Recorder } from '../shared/recorder.ts'
import { recordedFeeds, recorderStatus } from '../shared/recorder-status.ts'
import { type LiveRun, runLive } from '../shared/run-live.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { ORACLE_INTERVALS } from './close-oracle-candles.ts'
import { OracleSymbolRecorder } from './record-oracle-symbol.ts'

export interface OracleOptions {
  readonly venue: Venue
  /** The longest pause between two answers while all is well. */
  readonly heartbeatMs: number
  readonly store: EnvironmentStore
  readonly clock: Clock
  readonly log: Logger
  readonly symbols?: readonly AssetSymbol[]
  /** How far back rounds are requested at the first start. */
  readonly backMs?: number
  readonly maxSilenceMs?: LiveOptions['maxSilenceMs']
}

export function recordOracle(options: OracleOptions): Recorder {
  const { venue, store, clock, log } = options
  const { source } = venue.describe
  const symbols = (options.symbols ?? SYMBOLS).filter((symbol) =>
    Object.hasOwn(venue.describe.symbols, symbol),
  )
  const channels = symbols.map((symbol) => ({ topic: 'oracle_rounds', symbol }) as const)
  const feeds = channels.flatMap((channel) =>
    ORACLE_INTERVALS.map((interval) => ({
      feed: candleFeed(source, channel.symbol, interval),
      channels: [channelKey(channel)],
    })),
  )
  const recorded = recordedFeeds(venue, feeds)
  let writer: RowWriter | undefined
  let live: LiveRun | undefined
  let insertedBefore = 0

  async function run(signal: AbortSignal): Promise<void> {
    const rows = openRowWriter({ venue, store, clock, log })
    writer = rows
    const tracker = createCoverageTracker({ feeds, coverage: store.coverage, writer: rows })
    const recorders = new Map<AssetSymbol, LiveRecorder>(
      symbols.map((symbol) => [
        symbol,
        new OracleSymbolRecorder({ ...options, symbol, rows, tracker, signal }),
      ]),
    )
    live = runLive({
      venue,
      channels,
      hasSnapshots: false,
      recorders,
      tracker,
      writer: rows,
      clock,
      log,
      signal,
      ...(options.maxSilenceMs === undefined ? {} : { maxSilenceMs: options.maxSilenceMs }),
    })
    try {
      await live.done
    } finally {
      await live.close()
      insertedBefore += rows.stats().inserted
      await rows.close().catch((error) => log.error({ err: error }, 'the last rows were not written'))
    }
  }

  return {
    name: venue.describe.name,
    source,
    run,
    status: () =>
      recorderStatus({
        venue,
        source,
        live,
        writer,
        insertedBefore,
        feeds: recorded,
      }),
  }
}
