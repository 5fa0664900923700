/**
 * Fills the past of an exchange from its own history.
 *
 *   for each step of the plan, most requested first:
 *     coverage ──▶ gaps of the range ──▶ chunks, newest first ──▶ request ──▶ rows ──▶ coverage
 *
 * Coverage is the only state: a crash loses at most the current chunk, and the next run requests nothing that is
 * already stored. What the venue does not have becomes a gap `not_provided` and is not requested again.
 */

import type { Feed } from '../../core/feed.ts'
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import { backoffMs } from '../../kit/backoff.ts'
import type { Logger } from '../../kit/log.ts'
import type { CoverageStore, Span } from '../../store/coverage.ts'
import { scanRows } from '../../store/scan-rows.ts'
import type { CandleObservation } from '../../venues/observation.ts'
import type { HistoryPage, HistoryRange } from '../../venues/venue.ts'
import { type BackfillPace, noPace } from '../shared/backfill-pace.ts'
import { type BackfillStep, candleFeed, feedOf } from '../shared/feeds.ts'
import type { BackfillProgress } from '../shared/recorder.ts'
import { uncovered } from '../shared/uncovered.ts'
import { requestTradeCandles } from './backfill-trade-candles.ts'
import { type Candle, candleOfKline } from './candle.ts'
import { candleOf } from './candle-row.ts'
import { advanceAround, checkCandles, checkFlow, refuseRolled } from './check-candles.ts'
import {
  isCountedIn,
  type MinuteCounts,
  putCounts,
  putFlow,
  readCounts,
  type StoredCounts,
} from './close-flow.ts'
import { cutAt } from './close-minutes.ts'
import { confirmSeconds } from './confirm-seconds.ts'
import {
  apartByCounts,
  countsFrom,
  loseLacking,
  readSealedWithout,
  type SealedWithout,
} from './lacking-counts.ts'
import { recordPageCoverage, requestFunding, requestOpenInterest } from './request-derivatives.ts'
import { requestJoined } from './request-joined.ts'
import { createRollUp, type RolledCandle } from './roll-up-candles.ts'
import type { SymbolParts } from './symbol-parts.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const RETRY = { baseMs: 1_000, capMs: 60_000 }
const TRIES = 8
/** Candles and seconds wait for counts, so a later pass soon leaves those that cannot be requested to the next one. */
const TRIES_AGAIN = 2

interface BackfillTarget {
  readonly parts: SymbolParts
  /** Where each kind of step ends; live recording covers everything after it. */
  readonly endMs: (step: BackfillStep) => number | undefined
}

export interface BackfillOptions {
  readonly steps: readonly BackfillStep[]
  readonly targets: readonly BackfillTarget[]
  readonly coverage: CoverageStore
  readonly log: Logger
  readonly pace?: BackfillPace | undefined
  /** Overrides how far each step goes back. */
  readonly fromMs?: number
  /** Whether this is a later pass, which fills what earlier ones have left. */
  readonly isAgain?: boolean
  readonly onProgress?: (progress: BackfillProgress) => void
  /** Called when a step is done for all symbols. */
  readonly onStep?: (step: BackfillStep) => Promise<void>
}

interface Chunk {
  readonly target: BackfillTarget
  readonly step: BackfillStep
  readonly range: HistoryRange
}

export async function runBackfill(options: BackfillOptions): Promise<BackfillProgress> {
  const pace = options.pace ?? noPace
  const progress = { total: 0, done: 0, failed: 0, step: '', isFinished: false }
  const report = () => options.onProgress?.({ ...progress })
  const plans = await Promise.all(
    options.steps.map(async (step) => ({
      step,
      chunks: (await Promise.all(options.targets.map((target) => chunksOf(options, step, target)))).flat(),
    })),
  )
  progress.total = plans.reduce((sum, { chunks }) => sum + chunks.length, 0)
  for (const { step, chunks } of plans) {
    progress.step = stepName(step)
    report()
    // All symbols in parallel, each from its newest gap backwards.
    await Promise.all(
      options.targets.map(async (target) => {
        for (const chunk of chunks.filter((each) => each.target === target)) {
          // Live data waits for counts: no flow is written before those of the last hours are stored (close-flow.ts).
          await pace(target.parts.signal, step.kind === 'counts').catch(() => {})
          if (target.parts.signal.aborted) return
          if (await fillPatiently(chunk, options)) progress.done += 1
          else progress.failed += 1
          report()
        }
      }),
    )
    await options.onStep?.(step)
  }
  progress.isFinished = true
  report()
  return { ...progress }
}

function stepName(step: BackfillStep): string {
  return step.kind === 'candles' ? `candles ${step.interval}` : step.kind
}

/** The feeds whose coverage shows what is missing: the requested feed, and those rolled up from it. */
function feedsOf(step: BackfillStep, { plan, symbol }: SymbolParts): Feed[] {
  switch (step.kind) {
    case 'funding':
      return [feedOf('funding', plan.source, symbol)]
    case 'open_interest':
      return [feedOf('open_interest', plan.source, symbol, '5m')]
    case 'counts':
      return [feedOf('flow', plan.source, symbol, '1m')]
    case 'candles':
      return [
        candleFeed(plan.source, symbol, step.interval),
        ...step.rollUp.map((interval) => candleFeed(plan.source, symbol, interval)),
        ...(step.withFlow
          ? step.rollUp.map((interval) => feedOf('flow', plan.source, symbol, interval))
          : []),
      ]
    case 'seconds':
      return [candleFeed(plan.source, symbol, '1s')]
  }
}

/** A roll-up needs whole days; other steps use smaller units. */
function alignmentOf(step: BackfillStep): number {
  switch (step.kind) {
    case 'candles':
      return step.rollUp.length > 0 ? DAY_MS : INTERVAL_MS[step.interval]
    case 'seconds':
    case 'counts':
      return MINUTE_MS
    default:
      return INTERVAL_MS['5m']
  }
}

async function chunksOf(
  options: BackfillOptions,
  step: BackfillStep,
  target: BackfillTarget,
): Promise<Chunk[]> {
  const liveMs = target.endMs(step)
  if (liveMs === undefined) return []
  const unitMs = alignmentOf(step)
  const floor = (timeMs: number) => Math.floor(timeMs / unitMs) * unitMs
  const skipMs = step.kind === 'candles' ? step.skipMs : 0
  const endMs = skipMs === 0 ? liveMs : Math.min(liveMs, floor(target.parts.clock.now() - skipMs))
  const startMs = floor(await startOf(options, step, target.parts, liveMs))
  if (startMs >= endMs) return []
  const { gaps } = await options.coverage.read(feedsOf(step, target.parts), startMs, endMs)
  const missing = joined(gaps.filter(({ reason }) => reason !== 'not_provided'))
  const chunks: Chunk[] = []
  let reachedMs = Number.POSITIVE_INFINITY
  for (const gap of missing.toReversed()) {
    const fromMs = Math.max(startMs, floor(gap.from))
    let toMs = Math.min(endMs, floor(gap.to + unitMs - 1), reachedMs)
    while (toMs > fromMs) {
      const from = Math.max(fromMs, floor(toMs - step.chunkMs))
      chunks.push({ target, step, range: { fromMs: from, toMs } })
      toMs = from
    }
    reachedMs = Math.min(reachedMs, fromMs)
  }
  return chunks
}

/** The time in which any of several feeds has a gap. The gaps are sorted by their start. */
function joined(gaps: readonly Span[]): Span[] {
  const spans: Span[] = []
  for (const { from, to } of gaps) {
    const last = spans.at(-1)
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
    else spans.push({ from, to })
  }
  return spans
}

/**
 * There are so many trades that steps which need them never go back further than their plan, and seconds not before
 * their recording began: with the first stored one, or before it in a time without a trade.
 */
async function startOf(
  { fromMs, coverage }: BackfillOptions,
  step: BackfillStep,
  { plan, symbol, series }: SymbolParts,
  endMs: number,
): Promise<number> {
  const plannedMs = endMs - step.backMs
  if (step.kind === 'counts') return Math.max(plannedMs, fromMs ?? plannedMs)
  if (step.kind !== 'seconds') return fromMs ?? plannedMs
  const first = await series.earliest({ dataset: 'candles', source: plan.source, symbol, interval: '1s' })
  const { gaps } = await coverage.read([candleFeed(plan.source, symbol, '1s')], plannedMs, endMs)
  const began = gaps.findLast(({ reason }) => reason === 'before_start')?.to
  return Math.max(plannedMs, fromMs ?? plannedMs, Math.min(first ?? endMs, began ?? endMs))
}

async function fillPatiently(chunk: Chunk, options: BackfillOptions): Promise<boolean> {
  const { clock, random, signal, writer, venue } = chunk.target.parts
  const { log } = options
  const tries = options.isAgain === true && chunk.step.kind === 'counts' ? TRIES_AGAIN : TRIES
  let { range } = chunk
  for (let attempt = 0; attempt < tries; attempt++) {
    try {
      const left = await fill({ ...chunk, range }, options)
      await writer.ready()
      if (left === undefined) return true
      range = { fromMs: left.fromMs, toMs: range.toMs }
      throw left.error
    } catch (error) {
      if (signal.aborted) return false
      log.warn(
        { venue: venue.describe.name, step: stepName(chunk.step), err: error },
        'a chunk of the backfill failed',
      )
      await clock.sleep(backoffMs(RETRY, attempt, random), signal)
    }
  }
  return false
}

/** The part of a chunk that a failed request left; everything before it is filled. */
interface Unfilled {
  readonly fromMs: number
  readonly error: unknown
}

async function fill(
  { target: { parts }, step, range }: Chunk,
  { coverage, fromMs }: BackfillOptions,
): Promise<Unfilled | undefined> {
  switch (step.kind) {
    case 'funding':
      await requestFunding(parts, range)
      return undefined
    case 'open_interest':
      await requestOpenInterest(parts, range)
      return undefined
    case 'counts':
      await fillCounts(parts, range)
      return undefined
    case 'candles':
      await fillCandles(parts, step, range, {
        joinedMs: await joinedToMs(parts, coverage, range),
        past: step.withFlow ? await readFlow(parts, coverage, range, countsFrom(parts, fromMs)) : undefined,
      })
      return undefined
    case 'seconds':
      if (parts.plan.secondsFrom !== 'candles') return fillBuiltSeconds(parts, coverage, range)
      await fillKlineSeconds(parts, range)
      return undefined
  }
}

const isKline = (row: HistoryPage['observations'][number]): row is CandleObservation => row.kind === 'candle'

/** Candles without the rate and the open interest of their time remain a gap (close-minutes.ts). */
async function joinedToMs(parts: SymbolParts, coverage: CoverageStore, range: HistoryRange): Promise<number> {
  if (parts.derivatives === undefined) return Number.POSITIVE_INFINITY
  const { toMs } = await requestJoined(parts, coverage, range, MINUTE_MS).catch(() => ({
    toMs: range.fromMs,
  }))
  return toMs < range.toMs ? toMs : Number.POSITIVE_INFINITY
}

/** What is stored of the flow of a range. */
interface StoredFlow {
  readonly counts: MinuteCounts
  readonly sealed: SealedWithout
  /** Whether the trades of a minute without counts may still be requested. */
  isRequested(openMs: number): boolean
}

async function readFlow(
  parts: SymbolParts,
  coverage: CoverageStore,
  range: HistoryRange,
  countsFromMs: number,
): Promise<StoredFlow> {
  const { plan, symbol, series, writer } = parts
  const feed = feedOf('flow', plan.source, symbol, '1m')
  // Counts from live recording may still wait to be written.
  await writer.flush()
  const counts = await readCounts(series, feed, range.fromMs, range.toMs)
  const sealed = await readSealedWithout(parts, coverage, range)
  const { gaps } = await coverage.read([feed], range.fromMs, range.toMs)
  const requested = gaps.filter(({ reason }) => reason !== 'not_provided')
  const isRequested = (openMs: number) =>
    openMs >= countsFromMs && requested.some(({ from, to }) => from <= openMs && to > openMs)
  return { counts, sealed, isRequested }
}

async function fillCandles(
  parts: SymbolParts,
  step: Extract<BackfillStep, { kind: 'candles' }>,
  range: HistoryRange,
  /** Minutes from `joinedMs` on lack their rate or open interest. */
  { joinedMs, past }: { joinedMs: number; past: StoredFlow | undefined },
): Promise<void> {
  const { plan, symbol, venue, writer, derivatives, signal, tracker } = parts
  const { source } = plan
  const { interval } = step
  const rollUp = createRollUp({ intervals: step.rollUp, fromMs: range.fromMs })
  const flow = past && createRollUp({ intervals: step.rollUp, fromMs: range.fromMs })
  const hopeless: number[] = []
  const uncounted: RolledCandle[] = []
  const isHopeless = ({ fromMs, toMs }: HistoryRange) =>
    hopeless.some((openMs) => openMs >= fromMs && openMs < toMs)
  const derived: { feed: Feed; interval: CandleInterval }[] = step.rollUp.flatMap((coarse) => [
    { feed: candleFeed(source, symbol, coarse), interval: coarse },
    ...(step.withFlow ? [{ feed: feedOf('flow', source, symbol, coarse), interval: coarse }] : []),
  ])
  const settled: { feed: Feed; interval: CandleInterval; covered: HistoryRange }[] = []
  const settle = ({ feed, interval: coarse, covered }: (typeof settled)[number]) => {
    tracker.confirm(feed, covered.fromMs, covered.toMs)
    parts.writer.final(feed, Math.floor(covered.toMs / INTERVAL_MS[coarse]) * INTERVAL_MS[coarse])
  }
  for await (const page of venue.history({ topic: 'candles', symbol, interval, range }, { signal })) {
    const candles = page.observations.filter(isKline).map(candleOfKline)
    // Includes candles that cannot be served: the store refuses them, which makes them a gap.
    writer.put(
      candleFeed(source, symbol, interval),
      candles.map((candle) => candleOf(plan, { interval, candle }, true, derivatives)),
    )
    const checked = checkCandles(parts, interval, candles)
    for (const { openMs } of checked.refused) writer.refuse(candleFeed(source, symbol, interval), openMs)
    refuseRolled(parts, checked.refused, step.rollUp, 'candles')
    for (const { range: lost } of page.missing)
      for (const each of [rollUp, flow]) each?.spoil(lost.fromMs, lost.toMs)
    const toMs = Math.max(page.covered?.toMs ?? 0, ...page.missing.map((lost) => lost.range.toMs))
    for (const row of advanceAround(rollUp, checked, interval, toMs))
      writer.put(candleFeed(source, symbol, row.interval), [candleOf(plan, row, true, derivatives)])
    if (flow !== undefined && past !== undefined) {
      const { good, refused } = checkFlow(parts, interval, checked)
      const counted = good.map((candle) => withCounts(candle, past.counts.get(candle.openMs)))
      for (const { openMs, buys } of counted)
        if (buys === null && !past.isRequested(openMs)) hopeless.push(openMs)
      refuseRolled(parts, refused, step.rollUp, 'flow')
      const rolled = advanceAround(flow, { good: counted, refused }, interval, toMs)
      const { complete, lacking } = apartByCounts(rolled, past.sealed, isHopeless)
      putFlow(parts, complete, true)
      putFlow(parts, lacking, false)
      uncounted.push(...lacking)
    }
    const coveredBy = (length: CandleInterval) =>
      page.covered === null ? null : cutAt(page.covered, candleStart(joinedMs, length))
    const own = { ...page, covered: coveredBy(interval) }
    recordPageCoverage(parts, [candleFeed(source, symbol, interval)], own)
    for (const { feed, interval: coarse } of derived) {
      for (const { range: lost, reason } of page.missing)
        tracker.missing(feed, lost.fromMs, lost.toMs, reason)
      // A longer candle is complete only with all of its minutes.
      const covered = coveredBy(coarse)
      if (covered === null) continue
      // A row of flow that began on an earlier page may lack counts, so none is complete before the last page.
      if (feed.dataset === 'flow') settled.push({ feed, interval: coarse, covered })
      else settle({ feed, interval: coarse, covered })
    }
    await writer.ready()
  }
  for (const each of settled) settle(each)
  loseLacking(parts, uncounted)
}

/** Counts made from other trades than the candle's are ignored. */
function withCounts(candle: Candle, counts: StoredCounts | undefined): Candle {
  if (candle.count === 0) return { ...candle, buys: 0, sells: 0 }
  if (counts === undefined || !isCountedIn(counts, candle)) return candle
  return { ...candle, buys: counts.buys, sells: counts.sells }
}

async function fillKlineSeconds(parts: SymbolParts, range: HistoryRange): Promise<void> {
  const { plan, symbol, venue, writer, signal } = parts
  const feed = candleFeed(plan.source, symbol, '1s')
  for await (const page of venue.history({ topic: 'candles', symbol, interval: '1s', range }, { signal })) {
    const candles = page.observations.filter(isKline).map(candleOfKline)
    writer.put(
      feed,
      candles.map((candle) => candleOf(plan, { interval: '1s', candle }, true, undefined)),
    )
    recordPageCoverage(parts, [feed], page)
    await writer.ready()
  }
}

async function fillCounts(parts: SymbolParts, range: HistoryRange): Promise<void> {
  const { candles, missing, broken, wholeMs } = await requestTradeCandles(parts, range, MINUTE_MS)
  putCounts(parts, candles)
  // A minute without trades has nothing to count, and need not be requested again.
  const feed = feedOf('flow', parts.plan.source, parts.symbol, '1m')
  const lost = [...missing, ...broken].sort((a, b) => a.fromMs - b.fromMs)
  for (const { fromMs, toMs } of missing)
    parts.tracker.missing(feed, Math.floor(fromMs / MINUTE_MS) * MINUTE_MS, minuteFrom(toMs), 'not_provided')
  for (const { fromMs, toMs } of uncovered({ fromMs: range.fromMs, toMs: wholeMs }, lost))
    if (toMs > fromMs)
      parts.tracker.confirm(feed, minuteFrom(fromMs), Math.floor(toMs / MINUTE_MS) * MINUTE_MS)
  await parts.writer.flush()
}

const minuteFrom = (timeMs: number) => Math.ceil(timeMs / MINUTE_MS) * MINUTE_MS

/** Seconds in which the venue's list has gaps stay as they are, and are requested again. */
async function fillBuiltSeconds(
  parts: SymbolParts,
  coverage: CoverageStore,
  wanted: HistoryRange,
): Promise<Unfilled | undefined> {
  const { plan, symbol, series, writer, derivatives, tracker } = parts
  const known = await requestJoined(parts, coverage, wanted, SECOND_MS)
  const range = { fromMs: wanted.fromMs, toMs: known.toMs }
  const left = known.error === undefined ? undefined : { fromMs: range.toMs, error: known.error }
  if (range.toMs <= range.fromMs) return left
  const feed = candleFeed(plan.source, symbol, '1s')
  const { candles, missing, broken, wholeMs } = await requestTradeCandles(parts, range, SECOND_MS)
  writer.put(
    feed,
    candles.map((candle) => candleOf(plan, { interval: '1s', candle }, true, derivatives)),
  )
  const lost = [...missing, ...broken].sort((a, b) => a.fromMs - b.fromMs)
  const ours: number[] = []
  // Seconds of live recording may still wait to be written.
  await writer.flush()
  for await (const row of scanRows(series, feed, { from: range.fromMs, to: wholeMs }))
    ours.push(Date.parse(row.timestamp))
  const answered = candles.map(({ openMs }) => openMs)
  for (const { fromMs, toMs } of uncovered({ fromMs: range.fromMs, toMs: wholeMs }, lost)) {
    const whole = {
      fromMs: Math.ceil(fromMs / SECOND_MS) * SECOND_MS,
      toMs: Math.floor(toMs / SECOND_MS) * SECOND_MS,
    }
    if (whole.fromMs < whole.toMs) confirmSeconds(tracker, feed, whole, { ours, answered })
  }
  for (const { fromMs, toMs } of missing) tracker.missing(feed, fromMs, toMs, 'not_provided')
  parts.writer.final(feed, wholeMs)
  return left
}
