/**
 * Open interest of yes/no contracts: at each grid point the last figure of every open contract, and their sum. Nothing is
 * claimed from the first grid point on whose rows are not put yet; one that passes while the store fails is a gap.
 */
import { add, decimal, decimalText, ZERO } from '../../core/decimal.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { OpenInterestInput } from '../../core/rows/open-interest.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { COARSE_INTERVALS, feedOf } from '../shared/feeds.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { LatestBefore } from './latest-before.ts'
import type { PredictionPlan } from './market-feeds.ts'

const GRID_MS = INTERVAL_MS['5m']
/** Figures of the grid point itself may arrive this late. */
const GRACE_MS = 5_000
/** A grid point that is older than this was not observed. */
const LATE_MS = 30_000

export type OpenInterestRecorder = ReturnType<typeof recordOpenInterest>

export function recordOpenInterest(options: {
  plan: PredictionPlan
  symbol: AssetSymbol
  startedMs: number
  writer: Pick<RowWriter, 'put'>
  tracker: Pick<CoverageTracker, 'limit' | 'lost'>
}) {
  const { plan, symbol, writer, tracker } = options
  const figures = new Map<string, LatestBefore<string>>()
  const feeds = COARSE_INTERVALS.map((interval) => ({
    feed: feedOf('open_interest', plan.source, symbol, interval),
    lengthMs: INTERVAL_MS[interval],
  }))
  let nextMs = 0
  waitFor(Math.floor(options.startedMs / GRID_MS) * GRID_MS + GRID_MS)

  function waitFor(gridMs: number): void {
    nextMs = gridMs
    for (const { feed } of feeds) tracker.limit(feed, gridMs)
  }

  /** The grid points from one to another, both included, were not observed. */
  function lose(fromMs: number, toMs: number): void {
    for (const { feed, lengthMs } of feeds) {
      const firstMs = Math.ceil(fromMs / lengthMs) * lengthMs
      const lastMs = Math.floor(toMs / lengthMs) * lengthMs
      if (firstMs <= lastMs) tracker.lost(feed, firstMs, lastMs + 1, 'not_observed')
    }
  }

  function received(marketId: string, timeMs: number, openInterest: string): void {
    const known = figures.get(marketId) ?? new LatestBefore<string>()
    known.received(timeMs, openInterest)
    figures.set(marketId, known)
  }

  return {
    /** A list may be older than the stream: its figure counts only until the stream sends one. */
    listed(marketId: string, openInterest: string) {
      if (!figures.has(marketId)) received(marketId, 0, openInterest)
    },
    received,
    drop: (marketId: string) => void figures.delete(marketId),
    /** Every second. `openAt`: the contracts that are open at an instant. */
    show(nowMs: number, openAt: (timeMs: number) => readonly string[]) {
      if (nowMs < nextMs + GRACE_MS) return
      const time = nextMs
      const newestMs = Math.floor(nowMs / GRID_MS) * GRID_MS
      waitFor(newestMs + GRID_MS)
      if (nowMs - time > LATE_MS) {
        lose(time, newestMs)
        return
      }
      const rows = openAt(time).flatMap((marketId): OpenInterestInput[] => {
        const openInterest = figures.get(marketId)?.at(time)
        return openInterest === undefined
          ? []
          : [{ time, openInterest, openInterestUsd: openInterest, marketId }]
      })
      if (rows.length === 0) return
      const sum = decimalText(rows.reduce((total, row) => add(total, decimal(row.openInterest)), ZERO))
      const all = [{ time, openInterest: sum, openInterestUsd: sum }, ...rows]
      for (const { feed, lengthMs } of feeds) if (time % lengthMs === 0) writer.put(feed, all)
    },
  }
}
