/**
 * Records one exchange: live data at once, then the past.
 *
 *   today's minutes are the live side's (it rolls them up), the days before are the backfill's
 */

import { candleStart } from '../../core/interval.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { Source } from '../../core/source.ts'
import { type AssetSymbol, SYMBOLS } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { LiveOptions, Venue } from '../../venues/venue.ts'
import type { BackfillPace } from '../shared/backfill-pace.ts'
import {
  type BackfillStep,
  COARSE_INTERVALS,
  candleFeed,
  channelsOf,
  type ExchangePlan,
  feedOf,
  trackedFeeds,
} from '../shared/feeds.ts'
import { openRowWriter } from '../shared/open-row-writer.ts'
import type { BackfillProgress, Recorder } from '../shared/recorder.ts'
import { recordedFeeds, recorderStatus } from '../shared/recorder-status.ts'
import { type LiveRun, runLive } from '../shared/run-live.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { loadDerivatives } from './join-derivatives.ts'
import { SymbolRecorder } from './record-symbol.ts'
import { readUnclosedTrades, retractUnconfirmed, retractUnreceived } from './resume.ts'
import { runBackfill } from './run-backfill.ts'
import { noCounts, type SymbolParts } from './symbol-parts.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Joined values are available for as long as candles may be rebuilt. */
const DERIVATIVES_KEPT_MS = 40 * DAY_MS
/** Trades of the live side are awaited this long before the backfill starts without knowing where they begin. */
const FIRST_TRADE_WITHIN_MS = 20_000
/** The time until the sockets are open counts as not provided, unless data of it arrives. */
const CONNECTS_WITHIN_MS = 3_000
/** New gaps are looked for this often. */
const LOOK_AGAIN_MS = 5 * 60_000

export interface ExchangeOptions {
  readonly plan: ExchangePlan
  readonly venue: Venue
  readonly store: EnvironmentStore
  readonly clock: Clock
  readonly log: Logger
  readonly symbols?: readonly AssetSymbol[]
  readonly backfill?: boolean
  readonly pace?: BackfillPace | undefined
  /** Where the backfill ends its walk backwards, instead of the plan's depths. */
  readonly backfillFromMs?: number
  readonly maxSilenceMs?: LiveOptions['maxSilenceMs']
}

export function recordExchange(options: ExchangeOptions): Recorder {
  const { plan, venue, store, clock, log } = options
  const counts = noCounts()
  const symbols = (options.symbols ?? SYMBOLS).filter((symbol) =>
    Object.hasOwn(venue.describe.symbols, symbol),
  )
  const tracked = symbols.flatMap((symbol) => trackedFeeds(plan, symbol))
  const recorded = recordedFeeds(venue, tracked)
  let writer: RowWriter | undefined
  let live: LiveRun | undefined
  let progress: BackfillProgress | undefined
  let insertedBefore = 0

  async function run(signal: AbortSignal): Promise<void> {
    const rows = openRowWriter({ venue, store, clock, log })
    writer = rows
    const tracker = createCoverageTracker({
      feeds: tracked,
      coverage: store.coverage,
      writer: rows,
    })
    const startMs = clock.now()
    const fromMs = candleStart(startMs, '1d')
    const parts = await Promise.all(
      symbols.map(async (symbol): Promise<SymbolParts> => {
        const derivatives = plan.hasFunding
          ? await loadDerivatives({
              series: store.series,
              source: plan.source,
              symbol,
              fromMs: startMs - DERIVATIVES_KEPT_MS,
            })
          : undefined
        return {
          plan,
          venue,
          symbol,
          series: store.series,
          writer: rows,
          tracker,
          derivatives,
          counts,
          clock,
          signal,
        }
      }),
    )
    const recorders = new Map<AssetSymbol, SymbolRecorder>()
    for (const part of parts) {
      await retractUnconfirmed(store, plan, part.symbol, startMs)
      await retractUnreceived(store, plan, part.symbol, startMs)
      const left = await readUnclosedTrades(store, plan, part.symbol, fromMs, startMs)
      const onError = (error: unknown) =>
        log.warn({ venue: venue.describe.name, err: error }, 'trades not repaired')
      recorders.set(part.symbol, new SymbolRecorder(part, { fromMs, onError, left }))
    }
    if (plan.hasFunding && plan.openInterest === 'streamed') await listMarkets(store, venue)
    for (const part of parts) recordNotProvided(part, startMs)
    live = runLive({
      venue,
      channels: symbols.flatMap((symbol) => channelsOf(plan, symbol)),
      hasSnapshots: plan.hasSnapshots,
      recorders,
      tracker,
      writer: rows,
      clock,
      log,
      signal,
      ...(options.maxSilenceMs === undefined ? {} : { maxSilenceMs: options.maxSilenceMs }),
    })
    try {
      const past = options.backfill === false ? startFlows(recorders) : fillPast(parts, recorders, signal)
      past.catch((error) => {
        if (!signal.aborted) log.error({ venue: venue.describe.name, err: error }, 'the backfill stopped')
      })
      await live.done
      await past.catch(() => {})
    } finally {
      await live.close()
      insertedBefore += rows.stats().inserted
      await rows.close().catch((error) => log.error({ err: error }, 'the last rows were not written'))
    }
  }

  async function fillPast(
    parts: readonly SymbolParts[],
    recorders: ReadonlyMap<AssetSymbol, SymbolRecorder>,
    signal: AbortSignal,
  ): Promise<void> {
    if (plan.hasFlow || plan.secondsFrom === 'aggregate_trades') await firstTrades(recorders, signal)
    let isFirst = true
    while (!signal.aborted) {
      const targets = parts.map((part) => ({
        parts: part,
        endMs: (step: BackfillStep) => endOf(step, recorders.get(part.symbol), clock.now()),
      }))
      const result = await runBackfill({
        steps: plan.backfill,
        targets,
        coverage: store.coverage,
        log,
        pace: options.pace,
        ...(options.backfillFromMs === undefined ? {} : { fromMs: options.backfillFromMs }),
        onProgress(next) {
          if (isFirst) progress = next
        },
        async onStep(step) {
          if (isFirst && step.kind === 'counts') await startFlows(recorders)
        },
      })
      // Later passes close small gaps; they change the share only where one could not be closed.
      if (!isFirst) progress = { ...result, done: result.total - result.failed }
      if (isFirst && !plan.backfill.some((step) => step.kind === 'counts')) await startFlows(recorders)
      isFirst = false
      await clock.sleep(LOOK_AGAIN_MS, signal)
    }
  }

  async function firstTrades(
    recorders: ReadonlyMap<AssetSymbol, SymbolRecorder>,
    signal: AbortSignal,
  ): Promise<void> {
    const limitMs = clock.now() + FIRST_TRADE_WITHIN_MS
    const isWaiting = () => [...recorders.values()].some((recorder) => recorder.tradesFromMs === undefined)
    while (isWaiting() && clock.now() < limitMs) await clock.sleep(250, signal)
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
        counts: { ...counts },
        backfill: progress === undefined ? null : { ...progress },
      }),
  }
}

async function startFlows(recorders: ReadonlyMap<AssetSymbol, SymbolRecorder>): Promise<void> {
  await Promise.all([...recorders.values()].map((recorder) => recorder.startFlow()))
}

function endOf(step: BackfillStep, recorder: SymbolRecorder | undefined, nowMs: number): number | undefined {
  if (recorder === undefined) return undefined
  switch (step.kind) {
    case 'candles':
      // What the live side has closed is requested again only where it has a gap.
      return recorder.closedToMs
    case 'counts':
      return recorder.tradesFromMs ?? Math.floor(nowMs / 60_000) * 60_000
    case 'seconds':
      return Math.max(
        recorder.tradesFromMs ?? Math.floor(nowMs / 60_000 - 2) * 60_000,
        recorder.secondsToMs ?? 0,
      )
    case 'funding':
      return nowMs
    case 'open_interest':
      return Math.floor(nowMs / HOUR_MS) * HOUR_MS
  }
}

/** What the venue never gives for the past is a gap with that reason, up to where the recording began. */
function recordNotProvided({ plan, symbol, tracker }: SymbolParts, startMs: number): void {
  const fromMs = startMs - 31 * DAY_MS
  const feeds = [
    ...(plan.hasTicker ? [feedOf('ticker', plan.source, symbol)] : []),
    ...(plan.hasTrades ? [feedOf('trades', plan.source, symbol)] : []),
    ...(plan.hasLiquidations ? [feedOf('liquidations', plan.source, symbol)] : []),
    ...(plan.hasSnapshots ? [feedOf('snapshots', plan.source, symbol)] : []),
    ...(plan.openInterest === 'streamed'
      ? COARSE_INTERVALS.map((interval) => feedOf('open_interest', plan.source, symbol, interval))
      : []),
    ...(plan.secondsFrom === 'trades' ? [candleFeed(plan.source, symbol, '1s')] : []),
  ]
  for (const feed of feeds) tracker.unlessKnown(feed, fromMs, startMs + CONNECTS_WITHIN_MS, 'not_provided')
}

/** The perpetuals of a venue as entries of the market catalogue. */
async function listMarkets(store: EnvironmentStore, { describe }: Venue): Promise<void> {
  const markets = (Object.entries(describe.symbols) as [AssetSymbol, string][]).map(
    ([symbol, name]): MarketInput => ({
      marketId: name,
      source: describe.source as Source,
      symbol,
      ticker: name,
      active: true,
      status: 'open',
    }),
  )
  await store.write({ markets })
}
