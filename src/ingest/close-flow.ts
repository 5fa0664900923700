/**
 * Flow: volumes and averages of the venue's own bars, counts of the aggregate trades. The counts of a minute are
 * kept as a row of their own (interval `1m`, not served), so that the counts of a day survive a restart. Where they
 * are not known for the whole of a bucket they are null.
 *
 * Nothing is written before the stored counts were loaded: a closed row is written once, with all it will have.
 */
import type { Feed } from '../core/feed.ts'
import { INTERVAL_MS } from '../core/interval.ts'
import type { SeriesStore } from '../store/series.ts'
import type { Bar } from './bar.ts'
import { createBarBuilder, type TradeFact } from './build-candles.ts'
import { flowOf } from './build-flow.ts'
import { COARSE_INTERVALS, feedOf } from './plans.ts'
import { createRollUp, type RolledBar } from './roll-up.ts'
import { finalize, type SymbolParts } from './symbol-parts.ts'

const MINUTE_MS = 60_000

export type MinuteCounts = ReadonlyMap<number, { buys: number; sells: number }>

export interface FlowCloser {
  trade(trade: TradeFact): void
  /** Trades are whole from here on, gaps apart. */
  begin(atMs: number): void
  gap(fromMs: number, toMs: number): void
  /** The counts of the past are in the store (or cannot be had): rows may be written. */
  start(): Promise<void>
  minutes(bars: readonly Bar[], fromMs: number, toMs: number): void
  show(openBars: readonly Bar[]): void
}

export function closeFlow(parts: SymbolParts, fromMs: number): FlowCloser {
  const { plan, symbol, writer, tracker, counts, series } = parts
  const { source } = plan
  const rollUp = createRollUp({ intervals: COARSE_INTERVALS, fromMs })
  const builder = createBarBuilder({ lengthMs: MINUTE_MS })
  const queue: { bars: readonly Bar[]; fromMs: number; toMs: number }[] = []
  const gaps: { fromMs: number; toMs: number }[] = []
  let known: MinuteCounts | undefined
  let beganMs = Number.POSITIVE_INFINITY

  const isWhole = (openMs: number) =>
    openMs >= beganMs && !gaps.some((gap) => gap.fromMs < openMs + MINUTE_MS && gap.toMs > openMs)

  function counted(bar: Bar): Bar {
    const stored = known?.get(bar.openMs)
    if (stored !== undefined) return { ...bar, ...stored }
    if (!isWhole(bar.openMs)) return bar
    const own = builder.at(bar.openMs)
    if (bar.count === 0 && own === undefined) return { ...bar, buys: 0, sells: 0 }
    if (own === undefined || own.count !== bar.count) {
      counts.differences += 1
      return bar
    }
    return { ...bar, buys: own.buys, sells: own.sells }
  }

  function drain(): void {
    for (let step = queue.shift(); step !== undefined; step = queue.shift()) {
      const bars = step.bars.map(counted)
      putCounts(parts, bars)
      putFlow(parts, rollUp.advance(bars, step.toMs), true)
      builder.take(step.toMs)
      for (const interval of COARSE_INTERVALS) {
        const feed = feedOf('flow', source, symbol, interval)
        tracker.confirm(feed, step.fromMs, step.toMs)
        finalize(parts, feed, Math.floor(step.toMs / INTERVAL_MS[interval]) * INTERVAL_MS[interval])
      }
    }
  }

  return {
    trade: (trade) => void builder.add(trade),
    begin(atMs) {
      beganMs = Math.min(beganMs, atMs)
    },
    gap: (from, to) => void gaps.push({ fromMs: from, toMs: to }),
    async start() {
      await writer.flush()
      known = await readCounts(series, feedOf('flow', source, symbol, '1m'), fromMs, Number.MAX_SAFE_INTEGER)
      drain()
    },
    minutes(bars, from, to) {
      queue.push({ bars, fromMs: from, toMs: to })
      if (known !== undefined) drain()
    },
    show(openBars) {
      if (known === undefined) return
      const bars = openBars.map((bar) => {
        const own = isWhole(bar.openMs) ? builder.at(bar.openMs) : undefined
        return own === undefined ? bar : { ...bar, buys: own.buys, sells: own.sells }
      })
      putFlow(parts, rollUp.open(bars), false)
    },
  }
}

export function putFlow(parts: SymbolParts, rows: readonly RolledBar[], closed: boolean): void {
  for (const { interval, bar } of rows) {
    const row = flowOf(bar, closed)
    if (row !== undefined) parts.writer.put(feedOf('flow', parts.plan.source, parts.symbol, interval), [row])
  }
}

/** Keeps the counts of minutes. */
export function putCounts(parts: SymbolParts, minutes: readonly Bar[]): void {
  const feed = feedOf('flow', parts.plan.source, parts.symbol, '1m')
  const rows = minutes.filter((bar) => bar.buys !== null).flatMap((bar) => flowOf(bar, true) ?? [])
  parts.writer.put(feed, rows)
  for (const row of rows) {
    const fromMs = row.time
    parts.tracker.confirm(feed, fromMs, fromMs + MINUTE_MS)
  }
}

export async function readCounts(
  series: SeriesStore,
  feed: Feed<'flow'>,
  from: number,
  to: number,
): Promise<MinuteCounts> {
  const known = new Map<number, { buys: number; sells: number }>()
  for (let position: Awaited<ReturnType<SeriesStore['page']>>['last']; ; ) {
    const page = await series.page({
      feeds: [feed],
      range: { from, to },
      order: 'asc',
      limit: 5_000,
      separator: '\n',
      ...(position === undefined ? {} : { position }),
    })
    for (const text of page.text === '' ? [] : page.text.split('\n')) {
      const row = JSON.parse(text) as { timestamp: string; num_buys: number | null; num_sells: number | null }
      if (row.num_buys === null || row.num_sells === null) continue
      known.set(Date.parse(row.timestamp), { buys: row.num_buys, sells: row.num_sells })
    }
    if (!page.hasMore) return known
    position = page.last
  }
}
