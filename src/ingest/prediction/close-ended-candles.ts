/**
 * Closes candles that were last written open and have no recorder any more, because their market ended and its recorder
 * was dropped, or an earlier run ended, before the candle did.
 *
 *   a candle has ended, and its market's recorder had time to close it
 *     ──▶ rows of it that are still open ──▶ of a market with a recorder: left to the recorder, checked again
 *                                        ╰─▶ of any other: written closed, as they are
 *
 * The store itself is the list of open candles, so nothing is held in memory and nothing is lost with the process. A
 * start checks everything that may still be open.
 */

import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { CandleInput } from '../../core/rows/candle.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import { type ExactRow, scanExactRows } from '../../store/scan-rows.ts'
import type { SeriesStore } from '../../store/series.ts'
import { COARSE_INTERVALS, candleFeed } from '../shared/feeds.ts'
import { readPatiently } from '../shared/read-patiently.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { MARKETS_BACK_MS, type PredictionPlan } from './market-feeds.ts'

/** This long after its end, a recorder has closed its own candle. */
const CLOSED_AFTER_MS = 60_000
const DAY_MS = 86_400_000
/**
 * How far back open rows are searched. A short candle stays open only if the process died, a long one also if its
 * market was shorter.
 */
const LOOKED_BACK_MS = (interval: CandleInterval) =>
  INTERVAL_MS[interval] < INTERVAL_MS['1h'] ? 2 * MARKETS_BACK_MS : 40 * DAY_MS
/** How much time is read at once; a longer read would delay everything else. */
const READ_MS = DAY_MS
const PAUSE_MS = 20

export type EndedCandles = ReturnType<typeof closeEndedCandles>

export function closeEndedCandles(options: {
  plan: PredictionPlan
  symbol: AssetSymbol
  series: SeriesStore
  writer: RowWriter
  clock: Clock
  signal: AbortSignal
  /** Whether the market has a recorder, which closes its candles. */
  isKept: (marketId: string) => boolean
}) {
  const { plan, symbol, series, writer, clock, signal } = options
  const closedTo = new Map<CandleInterval, number>()
  let reads = 0
  /** Read before this run writes anything, because an earlier run's last row may be of any age. */
  const stored = readPatiently(() => {
    reads += 1
    return series.feeds({ dataset: 'candles', source: plan.source, symbol })
  }, options)
  stored.catch(() => {})

  async function firstOf(interval: CandleInterval, dueMs: number): Promise<number> {
    const feed = (await stored).find((each) => each.feed.interval === interval)
    if (feed?.firstTs === undefined || feed.lastTs === undefined) return dueMs
    // After a repeated read, the last row may be from this run.
    if (reads > 1) return candleStart(feed.firstTs, interval)
    return Math.max(feed.firstTs, candleStart(feed.lastTs - LOOKED_BACK_MS(interval), interval))
  }

  /** Returns the instant before which no row is open. */
  async function closeBetween(interval: CandleInterval, fromMs: number, toMs: number): Promise<number> {
    const feed = candleFeed(plan.source, symbol, interval)
    let closedToMs = toMs
    for await (const row of scanExactRows(series, feed, { from: fromMs, to: toMs }, { open: true })) {
      if (options.isKept(row.market_id ?? '')) closedToMs = Math.min(closedToMs, Date.parse(row.timestamp))
      else writer.put(feed, [closedRow(row)])
      await writer.ready()
    }
    return closedToMs
  }

  return {
    /** Closes what is due. Must not be called before the unresolved markets of an earlier run are known. */
    async close(nowMs: number) {
      for (const interval of COARSE_INTERVALS) {
        const dueMs = candleStart(nowMs - CLOSED_AFTER_MS, interval)
        let fromMs = closedTo.get(interval) ?? (await firstOf(interval, dueMs))
        while (fromMs < dueMs) {
          const toMs = Math.min(fromMs + READ_MS, dueMs)
          fromMs = await closeBetween(interval, fromMs, toMs)
          if (fromMs < toMs) break
          if (fromMs < dueMs) await clock.sleep(PAUSE_MS, signal)
        }
        closedTo.set(interval, fromMs)
      }
    },
    /** Every candle before this instant is closed, once what was put so far is durable. */
    closedTo: (interval: CandleInterval) => closedTo.get(interval) ?? 0,
  }
}

function closedRow(row: ExactRow<CandleRow>): CandleInput {
  const { open, high, low, close, volume } = row
  const market = {
    marketId: row.market_id ?? '',
    slug: row.market_slug ?? null,
    tokenId: row.token_id ?? null,
    outcome: row.outcome ?? null,
    question: row.question ?? null,
  }
  return { time: Date.parse(row.timestamp), open, high, low, close, volume, closed: true, market }
}
