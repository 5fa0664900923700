/**
 * Candles of a minute and longer. A candle from the stream is written open; only the venue's own REST answer closes a
 * candle, so a late, lost or wrong closing frame changes nothing. Differences between the stream's last candle and the
 * answer are counted. A candle that cannot be served, or that the answer lacks although the stream showed its trades, is
 * requested again for a while; then it and the longer candles that contain it are gaps, until the backfill gets a better
 * one after they have ended.
 */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { CandleObservation } from '../../venues/observation.ts'
import type { HistoryPage, HistoryRange } from '../../venues/venue.ts'
import { COARSE_INTERVALS, candleFeed } from '../shared/feeds.ts'
import { type Candle, candleOfKline, sameFigures } from './candle.ts'
import { candleOf } from './candle-row.ts'
import { advanceAround, type CheckedCandles, checkCandles, checkFlow, refuseRolled } from './check-candles.ts'
import { recordPageCoverage } from './request-derivatives.ts'
import { createRollUp, type RolledCandle } from './roll-up-candles.ts'
import type { SymbolParts } from './symbol-parts.ts'

/**
 * A minute that cannot be served, and all after it, wait this long for a better answer. Such a wait begins at most once
 * per `HELD_AGAIN_AFTER_MS`.
 */
const HELD_FOR_MS = 6 * 60_000
const HELD_AGAIN_AFTER_MS = 60 * 60_000

export type MinuteCloser = ReturnType<typeof closeMinutes>

/** Up to when the candles of an interval were final when this run began. */
export type FinalBefore = (interval: CandleInterval) => number

export function closeMinutes(parts: SymbolParts, fromMs: number, finalBefore: FinalBefore = () => 0) {
  const { plan, symbol, writer, derivatives, counts, clock } = parts
  const rollUp = createRollUp({ intervals: COARSE_INTERVALS, fromMs })
  const received = new Map<number, Candle & { isLast?: boolean }>()
  let closedToMs = fromMs
  /** The first minute that changed since candles were last shown; infinite if none did. */
  let changedMs = Number.POSITIVE_INFINITY
  /** When the current or latest wait for a better answer began. */
  let heldSinceMs = Number.NEGATIVE_INFINITY

  const put = (rows: readonly RolledCandle[], closed: boolean) => {
    for (const row of rows)
      writer.put(candleFeed(plan.source, symbol, row.interval), [candleOf(plan, row, closed, derivatives)])
  }
  const klinesOf = ({ observations }: HistoryPage) =>
    observations.filter((row): row is CandleObservation => row.kind === 'candle')

  /** Candles of the stream that show trades in the time of a page that lacks them. */
  function leftOut({ covered }: HistoryPage, candles: readonly Candle[]): Candle[] {
    if (covered === null) return []
    const known = new Set(candles.map(({ openMs }) => openMs))
    return openCandles().filter(
      ({ openMs, count }) =>
        openMs >= covered.fromMs && openMs < covered.toMs && !known.has(openMs) && count > 0,
    )
  }

  /** The page up to the first candle for which we wait for a better answer. */
  function held(page: HistoryPage): HistoryPage {
    const candles = klinesOf(page).map(candleOfKline)
    const minutes = checkCandles(parts, '1m', candles)
    const { refused } = plan.hasFlow ? checkFlow(parts, '1m', minutes) : minutes
    const waiting = [...refused, ...leftOut(page, candles)]
    const endMs = Math.min(...waiting.map(({ openMs }) => openMs))
    if (endMs === Number.POSITIVE_INFINITY) return page
    const nowMs = clock.now()
    if (nowMs - heldSinceMs >= HELD_AGAIN_AFTER_MS) heldSinceMs = nowMs
    if (nowMs - heldSinceMs >= HELD_FOR_MS) return page
    return {
      observations: klinesOf(page).filter(({ openTimeMs }) => openTimeMs < endMs),
      covered: page.covered && cutAt(page.covered, endMs),
      missing: page.missing.flatMap((lost) => {
        const range = cutAt(lost.range, endMs)
        return range === null ? [] : [{ ...lost, range }]
      }),
    }
  }

  /** If the venue may never publish a minute without a trade, nothing would close its row, nor a longer one of it. */
  const mayBeClosed = ({ count }: Candle) => count > 0 || plan.hasQuietCandles
  const openCandles = () => [...received.values()].filter(mayBeClosed).sort((a, b) => a.openMs - b.openMs)

  return {
    /** A candle from the stream. */
    receive(kline: CandleObservation) {
      if (kline.openTimeMs < closedToMs) return
      received.set(kline.openTimeMs, { ...candleOfKline(kline), isLast: kline.closed })
      changedMs = Math.min(changedMs, kline.openTimeMs)
    },
    /** Shows the open candles that changed; returns the first minute that did, or infinity. */
    show(): number {
      const fromMs = changedMs
      if (fromMs === Number.POSITIVE_INFINITY) return fromMs
      changedMs = Number.POSITIVE_INFINITY
      const candles = openCandles()
      put(
        candles.filter(({ openMs }) => openMs >= fromMs).map((candle) => ({ interval: '1m', candle })),
        false,
      )
      put(rollUp.open(candles, fromMs), false)
      return fromMs
    },
    /** The part of a page of the venue's own candles that may be taken now. */
    held,
    /**
     * Takes a page of the venue's own candles; returns them. Candles from `unknownMs` on lack the rate or the open
     * interest of their time: they are written, but are a gap until the backfill requests them again.
     */
    take(page: HistoryPage, unknownMs = Number.POSITIVE_INFINITY): CheckedCandles {
      const candles = klinesOf(page).map(candleOfKline)
      for (const candle of candles) {
        const streamed = received.get(candle.openMs)
        if (streamed?.isLast === true && !sameFigures(streamed, candle)) counts.differences += 1
      }
      // Includes candles that cannot be served: the store refuses them, which makes them a gap.
      put(
        candles.map((candle) => ({ interval: '1m', candle })),
        true,
      )
      for (const { range } of page.missing) rollUp.spoil(range.fromMs, range.toMs)
      const toMs = Math.max(page.covered?.toMs ?? 0, ...page.missing.map(({ range }) => range.toMs))
      if (toMs <= closedToMs) return { good: candles, refused: [] }
      const { good, refused } = checkCandles(parts, '1m', candles)
      const checked = {
        good,
        refused: [...refused, ...leftOut(page, candles)].sort((a, b) => a.openMs - b.openMs),
      }
      for (const { openMs } of checked.refused) writer.refuse(candleFeed(plan.source, symbol, '1m'), openMs)
      refuseRolled(parts, checked.refused, COARSE_INTERVALS, 'candles')
      put(advanceAround(rollUp, checked, '1m', toMs), true)
      closedToMs = toMs
      for (const openMs of received.keys()) if (openMs < toMs) received.delete(openMs)
      changedMs = Math.min(changedMs, toMs)
      settleCandles(parts, page, unknownMs, finalBefore)
      return checked
    },
    get closedToMs() {
      return closedToMs
    },
    /** The candles of the stream that are not closed yet. */
    open: openCandles,
  }
}

/** A longer candle is final when its last minute is. Minutes from `unknownMs` on are not complete. */
function settleCandles(
  parts: SymbolParts,
  page: HistoryPage,
  unknownMs: number,
  finalBefore: FinalBefore,
): void {
  const { plan, symbol, tracker } = parts
  const covered = page.covered && cutAt(page.covered, unknownMs)
  recordPageCoverage(parts, [candleFeed(plan.source, symbol, '1m')], { ...page, covered })
  for (const interval of COARSE_INTERVALS) {
    const feed = candleFeed(plan.source, symbol, interval)
    for (const { range, reason } of page.missing) tracker.missing(feed, range.fromMs, range.toMs, reason)
    if (covered === null) continue
    tracker.confirm(feed, covered.fromMs, covered.toMs)
    parts.writer.final(feed, Math.floor(covered.toMs / INTERVAL_MS[interval]) * INTERVAL_MS[interval])
  }
  if (page.covered === null || page.covered.toMs <= unknownMs) return
  const fromMs = Math.max(page.covered.fromMs, unknownMs)
  for (const interval of ['1m', ...COARSE_INTERVALS] as const) {
    // A longer candle will be written again as a whole, so it is a gap from its start, even for requests that end
    // before `fromMs`. What an earlier run marked as final has its values and stays as it is.
    const lostMs = Math.max(candleStart(fromMs, interval), finalBefore(interval))
    if (lostMs >= page.covered.toMs) continue
    tracker.lost(candleFeed(plan.source, symbol, interval), lostMs, page.covered.toMs, 'venue_down')
  }
}

/** The part of a range before an end, or null. */
export const cutAt = ({ fromMs, toMs }: HistoryRange, endMs: number): HistoryRange | null =>
  fromMs < endMs ? { fromMs, toMs: Math.min(toMs, endMs) } : null
