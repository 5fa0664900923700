/**
 * Flow: volumes and averages come from the venue's own candles, counts from the aggregate trades. The counts of each
 * minute are stored as a separate row (interval `1m`, not served), so that the counts of a day survive a restart.
 * Counts that are not known for a whole bucket are null. A minute waits until its trades are proven complete
 * (prove-minutes.ts), so that trades under repair still reach its bucket; unproven counts are null, never partial, and
 * their rows are a gap while the trades may still be requested (lacking-counts.ts).
 *
 * Nothing is written before the stored counts are loaded, because a closed row is written once, with all its values.
 * Until then, and until the minutes that waited for it are closed, nothing counts as observed although the channel is
 * up. A row that was final and complete without counts stays without them, even if they were found since.
 */
import { compare, decimalText, subtract } from '../../core/decimal.ts'
import type { Feed } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { CoverageStore } from '../../store/coverage.ts'
import { scanExactRows } from '../../store/scan-rows.ts'
import type { SeriesStore } from '../../store/series.ts'
import type { HistoryPage } from '../../venues/venue.ts'
import { COARSE_INTERVALS, feedOf } from '../shared/feeds.ts'
import { uncovered } from '../shared/uncovered.ts'
import { createCandleBuilder, type TradeFact } from './build-candles.ts'
import { flowOf } from './build-flow.ts'
import type { Candle } from './candle.ts'
import { advanceAround, type CheckedCandles, checkFlow, refuseRolled } from './check-candles.ts'
import type { TradeFollower } from './follow-trades.ts'
import { apartByCounts, loseLacking, readSealedWithout, type SealedWithout } from './lacking-counts.ts'
import type { MinuteProver } from './prove-minutes.ts'
import { createRollUp, type RolledCandle } from './roll-up-candles.ts'
import type { SymbolParts } from './symbol-parts.ts'

const MINUTE_MS = 60_000
/** Counts are requested from this long before the start, because the backfill may have failed at the last minutes. */
const ASKED_BEFORE_MS = 15 * MINUTE_MS

export interface StoredCounts {
  readonly buys: number
  readonly sells: number
  /** The volumes of the trades that were counted. */
  readonly buyVolume: string
  readonly sellVolume: string
}

export type MinuteCounts = ReadonlyMap<number, StoredCounts>

export type FlowCloser = ReturnType<typeof closeFlow>

interface Step {
  readonly candles: CheckedCandles
  /** Ranges for which the venue has no candle. */
  readonly missing: HistoryPage['missing']
  readonly fromMs: number
  readonly toMs: number
  readonly knownMs: number
  /** Minutes that have been judged. */
  readonly counted: Map<number, Candle>
}

export function closeFlow(
  parts: SymbolParts,
  fromMs: number,
  prover: MinuteProver,
  follower: Pick<TradeFollower, 'isWaiting'>,
) {
  const { plan, symbol, writer, tracker, counts, series, clock } = parts
  const { source } = plan
  const rollUp = createRollUp({ intervals: COARSE_INTERVALS, fromMs })
  const builder = createCandleBuilder({ lengthMs: MINUTE_MS })
  const queue: Step[] = []
  let gaps: { fromMs: number; toMs: number }[] = []
  let known: MinuteCounts | undefined
  let sealed: SealedWithout = new Set()
  /** The backfill requests the trades of minutes from here on. */
  let countsFromMs = Number.POSITIVE_INFINITY
  /** The last minute that lacks counts and is before `countsFromMs`. */
  let hopelessMs = Number.NEGATIVE_INFINITY
  let closedToMs = fromMs
  let beganMs = Number.POSITIVE_INFINITY
  let isWritten = false
  /** The first minute that changed since rows were last shown; infinite if none did. */
  let changedMs = Number.NEGATIVE_INFINITY
  const changed = (openMs: number) => {
    changedMs = Math.min(changedMs, openMs)
  }
  /** The first minute that was shown while trades waited for missing ones, so without counts; infinite if none was. */
  let shownWaitingMs = Number.POSITIVE_INFINITY
  const askedFromMs = clock.now() - ASKED_BEFORE_MS
  const limitCoverage = (toMs: number) => {
    for (const interval of COARSE_INTERVALS) tracker.limit(feedOf('flow', source, symbol, interval), toMs)
  }
  limitCoverage(fromMs)

  const isBroken = (openMs: number) =>
    openMs < beganMs || gaps.some((gap) => gap.fromMs < openMs + MINUTE_MS && gap.toMs >= openMs)

  /** Undefined while the trades of the minute are not proven. */
  function counted(candle: Candle, knownMs: number, nowMs: number): Candle | undefined {
    const stored = known?.get(candle.openMs)
    if (stored !== undefined && isCountedIn(stored, candle))
      return { ...candle, buys: stored.buys, sells: stored.sells }
    if (candle.count === 0) return { ...candle, buys: 0, sells: 0 }
    // Counts before the start come from the backfill; between the start and the first trade, only this code requests
    // them in time.
    if (candle.openMs + MINUTE_MS <= beganMs && candle.openMs < askedFromMs) return candle
    const own = builder.at(candle.openMs)
    const verdict = prover.judge(
      { ...candle, knownMs },
      own === undefined ? [] : [own],
      isBroken(candle.openMs),
      nowMs,
    )
    if (verdict.kind === 'wait') return undefined
    const [minute] = verdict.kind === 'whole' ? verdict.candles : []
    if (minute !== undefined && compare(minute.volume, candle.volume) === 0)
      return { ...candle, buys: minute.buys, sells: minute.sells }
    counts.differences += 1
    return candle
  }

  function drain(nowMs: number): void {
    for (let step = queue[0]; step !== undefined; step = queue[0]) {
      for (const candle of step.candles.good) {
        if (step.counted.has(candle.openMs)) continue
        const judged = counted(candle, step.knownMs, nowMs)
        if (judged === undefined) continue
        step.counted.set(candle.openMs, judged)
        changed(candle.openMs)
      }
      const { good, refused } = step.candles
      const candles = good.flatMap((candle) => step.counted.get(candle.openMs) ?? [])
      if (candles.length < good.length) return
      queue.shift()
      putCounts(parts, candles)
      for (const { openMs, buys } of candles) if (buys === null && openMs < countsFromMs) hopelessMs = openMs
      refuseRolled(parts, refused, COARSE_INTERVALS, 'flow')
      const rolled = advanceAround(rollUp, { good: candles, refused }, '1m', step.toMs)
      const { complete, lacking } = apartByCounts(rolled, sealed, ({ fromMs }) => fromMs <= hopelessMs)
      putFlow(parts, complete, true)
      putFlow(parts, lacking, false)
      builder.take(step.toMs)
      prover.forget(step.toMs)
      closedToMs = step.toMs
      changed(closedToMs)
      gaps = gaps.filter(({ toMs }) => toMs >= closedToMs)
      for (const interval of COARSE_INTERVALS) {
        const feed = feedOf('flow', source, symbol, interval)
        for (const { range, reason } of step.missing) tracker.missing(feed, range.fromMs, range.toMs, reason)
        const lost = step.missing.map(({ range }) => range)
        for (const { fromMs, toMs } of uncovered(step, lost)) tracker.confirm(feed, fromMs, toMs)
        parts.writer.final(feed, Math.floor(step.toMs / INTERVAL_MS[interval]) * INTERVAL_MS[interval])
      }
      loseLacking(parts, lacking)
    }
    if (isWritten) return
    isWritten = true
    limitCoverage(Number.POSITIVE_INFINITY)
  }

  return {
    trade(trade: TradeFact) {
      if (builder.add(trade)) {
        prover.trade(trade)
        changed(Math.floor(trade.timeMs / MINUTE_MS) * MINUTE_MS)
      } else counts.lateTrades += 1
    },
    /** Trades are complete from here on, except for gaps. */
    begin(atMs: number) {
      changed(Math.floor(atMs / MINUTE_MS) * MINUTE_MS)
      beganMs = Math.min(beganMs, atMs)
    },
    gap(from: number, to: number) {
      changed(Math.floor(from / MINUTE_MS) * MINUTE_MS)
      gaps.push({ fromMs: from, toMs: to })
    },
    /**
     * The counts of the past are stored, or cannot be obtained: rows may be written. From `requestedFromMs` on, the
     * backfill requests the counts that are still unknown.
     */
    async start(coverage: CoverageStore, requestedFromMs: number) {
      await writer.flush()
      sealed = await readSealedWithout(parts, coverage, { fromMs, toMs: Number.MAX_SAFE_INTEGER })
      countsFromMs = requestedFromMs
      known = await readCounts(series, feedOf('flow', source, symbol, '1m'), fromMs, Number.MAX_SAFE_INTEGER)
      drain(clock.now())
    },
    minutes(candles: CheckedCandles, missing: HistoryPage['missing'], from: number, to: number) {
      const checked = checkFlow(parts, '1m', candles)
      // Spoiled at once, because even before the step is closed no candle may be shown without the missing minutes.
      for (const { range } of missing) rollUp.spoil(range.fromMs, range.toMs)
      for (const { openMs } of checked.refused) rollUp.spoil(openMs, openMs + MINUTE_MS)
      changed(from)
      queue.push({
        ...{ candles: checked, missing, fromMs: from, toMs: to },
        ...{ knownMs: clock.now(), counted: new Map() },
      })
    },
    /** Closes the minutes whose trades are proven. */
    close(nowMs: number) {
      if (known !== undefined) drain(nowMs)
    },
    /** Shows the rows that changed; open candles have changed from `openChangedMs` on. */
    show(openCandles: readonly Candle[], openChangedMs: number) {
      changed(openChangedMs)
      const { isWaiting } = follower
      if (!isWaiting) {
        changed(shownWaitingMs)
        shownWaitingMs = Number.POSITIVE_INFINITY
      }
      if (known === undefined || changedMs === Number.POSITIVE_INFINITY) return
      const fromMs = changedMs
      changedMs = Number.POSITIVE_INFINITY
      if (isWaiting) shownWaitingMs = Math.min(shownWaitingMs, fromMs)
      // Minutes that wait for the proof of their trades are part of the row, which would otherwise be shown without
      // them.
      const waiting = queue.flatMap((step) =>
        step.candles.good.map((candle) => step.counted.get(candle.openMs) ?? candle),
      )
      // The stream's candle is never ahead of the trades, so if it counts more trades than we have, we lack some.
      const candles = [...waiting, ...openCandles].map((candle) => {
        if (candle.buys !== null) return candle
        const own = isBroken(candle.openMs) || isWaiting ? undefined : builder.at(candle.openMs)
        if (own === undefined || own.count < candle.count) return candle
        return { ...candle, buys: own.buys, sells: own.sells }
      })
      putFlow(parts, rollUp.open(candles, fromMs), false)
    },
    /** Every bucket before this instant has all the counts that it will ever have. */
    get closedToMs() {
      return closedToMs
    },
  }
}

export function putFlow(parts: SymbolParts, rows: readonly RolledCandle[], closed: boolean): void {
  for (const { interval, candle } of rows) {
    const row = flowOf(candle, closed)
    if (row !== undefined) parts.writer.put(feedOf('flow', parts.plan.source, parts.symbol, interval), [row])
  }
}

/** Stores the known counts of minutes. */
export function putCounts(parts: SymbolParts, minutes: readonly Candle[]): void {
  const feed = feedOf('flow', parts.plan.source, parts.symbol, '1m')
  const rows = minutes
    .filter((candle) => candle.buys !== null)
    .flatMap((candle) => flowOf(candle, true) ?? [])
  parts.writer.put(feed, rows)
  for (const row of rows) {
    const fromMs = row.time
    parts.tracker.confirm(feed, fromMs, fromMs + MINUTE_MS)
  }
}

/** Whether the counts were made from exactly the trades that the venue's candle contains. */
export function isCountedIn(
  { buyVolume, sellVolume }: StoredCounts,
  { volume, buyVolume: bought }: Candle,
): boolean {
  if (bought === null) return false
  return decimalText(bought) === buyVolume && decimalText(subtract(volume, bought)) === sellVolume
}

export async function readCounts(
  series: SeriesStore,
  feed: Feed<'flow'>,
  from: number,
  to: number,
): Promise<MinuteCounts> {
  const known = new Map<number, StoredCounts>()
  for await (const row of scanExactRows(series, feed, { from, to })) {
    if (row.num_buys === null || row.num_sells === null) continue
    known.set(Date.parse(row.timestamp), {
      buys: Number(row.num_buys),
      sells: Number(row.num_sells),
      buyVolume: row.buy_volume,
      sellVolume: row.sell_volume,
    })
  }
  return known
}
