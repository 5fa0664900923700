/**
 * Records one exchange: live data at once, then the past.
 *
 *   today's minutes belong to live recording, which rolls them up; the days before belong to the backfill
 */

import { type CandleInterval, candleStart } from '../../core/interval.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { Source } from '../../core/source.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { elapsedMs } from '../../kit/clock.ts'
import { countFailures } from '../../kit/count-failures.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { Venue } from '../../venues/venue.ts'
import { auditExchange } from '../audit/audit-exchange.ts'
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
import {
  CONNECTS_WITHIN_MS,
  type RecorderOptions,
  type RecorderRun,
  recordedSymbols,
  recordVenue,
} from '../shared/record-venue.ts'
import type { BackfillProgress, Recorder } from '../shared/recorder.ts'
import type { FinalBefore } from './close-minutes.ts'
import { DERIVATIVES_KEPT_MS, loadDerivatives } from './join-derivatives.ts'
import { countsFrom } from './lacking-counts.ts'
import { SymbolRecorder } from './record-symbol.ts'
import { readUnclosedTrades, retractUnconfirmed, retractUnreceived } from './resume.ts'
import { runBackfill } from './run-backfill.ts'
import { noCounts, type SymbolParts } from './symbol-parts.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** How long the backfill waits for the first live trades before it starts without knowing where they begin. */
const FIRST_TRADE_WITHIN_MS = 20_000
/** How often new gaps are searched for. */
const LOOK_AGAIN_MS = 5 * 60_000
/** Pause after a pass that failed. */
const FILL_AGAIN_MS = 10_000

export interface ExchangeOptions extends RecorderOptions {
  readonly plan: ExchangePlan
  readonly backfill?: boolean
  readonly pace?: BackfillPace | undefined
  /** Where the backfill stops going back, instead of the plan's depths. */
  readonly backfillFromMs?: number
}

export function recordExchange(options: ExchangeOptions): Recorder {
  const { plan, venue, store, clock, random, log } = options
  const { series } = store
  const counts = noCounts()
  const symbols = recordedSymbols(options)
  let parts: readonly SymbolParts[] = []
  let recorders: ReadonlyMap<AssetSymbol, SymbolRecorder> = new Map()
  let progress: BackfillProgress | undefined

  async function open({ rows: writer, tracker, startMs, signal }: RecorderRun) {
    const fromMs = candleStart(startMs, '1d')
    const about = { series, source: plan.source, fromMs: startMs - DERIVATIVES_KEPT_MS }
    parts = await Promise.all(
      symbols.map(async (symbol): Promise<SymbolParts> => {
        const derivatives = plan.hasFunding ? await loadDerivatives({ ...about, symbol }) : undefined
        return { plan, venue, symbol, series, writer, tracker, derivatives, counts, clock, random, signal }
      }),
    )
    const opened = new Map<AssetSymbol, SymbolRecorder>()
    for (const part of parts) {
      await retractUnconfirmed(store, plan, part.symbol, startMs)
      await retractUnreceived(store, plan, part.symbol, startMs)
      const left = await readUnclosedTrades(store, plan, part.symbol, fromMs, startMs)
      const finalBefore = await readFinalCandles(part)
      const failed = countFailures(clock)
      const onError = (error: unknown) => {
        const failures = failed()
        if (failures > 0)
          log.warn({ venue: venue.describe.name, err: error, failures }, 'trades not repaired')
      }
      opened.set(part.symbol, new SymbolRecorder(part, { fromMs, onError, left, finalBefore }))
    }
    if (plan.hasFunding && plan.openInterest === 'streamed') await listMarkets(store, venue)
    for (const part of parts) recordNotProvided(part, startMs)
    recorders = opened
    return opened
  }

  async function meanwhile({ signal }: RecorderRun): Promise<void> {
    const started = new Set<SymbolRecorder>()
    const start = () =>
      startFlows(recorders, started, async (symbol, recorder) => {
        const part = parts.find((each) => each.symbol === symbol)
        const isNever = part === undefined || options.backfill === false
        const fromMs = isNever ? Number.POSITIVE_INFINITY : countsFrom(part, options.backfillFromMs)
        await recorder.startFlow(store.coverage, fromMs)
      })
    const fill = pastFiller(signal, start)
    while (!signal.aborted) {
      try {
        if (options.backfill === false) return await start()
        await fill()
        await clock.sleep(LOOK_AGAIN_MS, signal)
      } catch (error) {
        if (signal.aborted) return
        log.error({ venue: venue.describe.name, err: error }, 'the backfill failed')
        await clock.sleep(FILL_AGAIN_MS, signal).catch(() => {})
      }
    }
  }

  /** Returns a pass over the past. A pass that fails because the store is away is repeated. */
  function pastFiller(signal: AbortSignal, flows: () => Promise<void>): () => Promise<void> {
    let isFirst = true
    return async () => {
      if (isFirst && (plan.hasFlow || plan.secondsFrom === 'aggregate_trades')) await firstTrades(signal)
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
        isAgain: !isFirst,
        ...(options.backfillFromMs === undefined ? {} : { fromMs: options.backfillFromMs }),
        onProgress(next) {
          if (isFirst) progress = next
        },
        async onStep(step) {
          if (isFirst && step.kind === 'counts') await flows()
        },
      })
      // Later passes close small gaps; they change the share only if a gap could not be closed.
      if (!isFirst) progress = { ...result, done: result.total - result.failed }
      if (isFirst && !plan.backfill.some((step) => step.kind === 'counts')) await flows()
      isFirst = false
    }
  }

  async function firstTrades(signal: AbortSignal): Promise<void> {
    const limitMs = elapsedMs(clock) + FIRST_TRADE_WITHIN_MS
    const isWaiting = () => [...recorders.values()].some((recorder) => recorder.tradesFromMs === undefined)
    while (isWaiting() && elapsedMs(clock) < limitMs) await clock.sleep(250, signal)
  }

  return recordVenue(options, {
    channels: symbols.flatMap((symbol) => channelsOf(plan, symbol)),
    feeds: symbols.flatMap((symbol) => trackedFeeds(plan, symbol)),
    hasSnapshots: plan.hasSnapshots,
    open,
    meanwhile,
    audits: () => auditExchange({ symbols: parts, store, random: options.random }),
    counts: () => ({ ...counts }),
    backfill: () => (progress === undefined ? null : { ...progress }),
  })
}

/** What an earlier run marked as final stays final. */
async function readFinalCandles({ plan, symbol, series }: SymbolParts): Promise<FinalBefore> {
  const intervals = ['1m', ...COARSE_INTERVALS] as const
  const known = await series.finality(intervals.map((interval) => candleFeed(plan.source, symbol, interval)))
  const beforeMs = new Map<CandleInterval, number>(
    intervals.map((interval, at) => [interval, known[at]?.before ?? 0]),
  )
  return (interval) => beforeMs.get(interval) ?? 0
}

/** Starts the flows that have not started yet, because some may have failed in an earlier attempt. */
async function startFlows(
  recorders: ReadonlyMap<AssetSymbol, SymbolRecorder>,
  started: Set<SymbolRecorder>,
  startOne: (symbol: AssetSymbol, recorder: SymbolRecorder) => Promise<void>,
): Promise<void> {
  const start = async ([symbol, recorder]: [AssetSymbol, SymbolRecorder]) => {
    await startOne(symbol, recorder)
    started.add(recorder)
  }
  await Promise.all([...recorders].filter(([, recorder]) => !started.has(recorder)).map(start))
}

function endOf(step: BackfillStep, recorder: SymbolRecorder | undefined, nowMs: number): number | undefined {
  if (recorder === undefined) return undefined
  switch (step.kind) {
    case 'candles':
      // What live recording has closed is requested again only where it has a gap.
      return recorder.closedToMs
    case 'counts':
      return Math.max(recorder.tradesFromMs ?? Math.floor(nowMs / 60_000) * 60_000, recorder.countedToMs ?? 0)
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

/** What the venue never provides for the past is a gap with that reason, up to the start of the recording. */
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

/** Writes the perpetuals of a venue to the market catalogue. */
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
