/** Open interest of yes/no contracts: at each grid point the last figure of every open contract, and their sum. */
import { add, decimal, decimalText, ZERO } from '../../core/decimal.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { OpenInterestInput } from '../../core/rows/open-interest.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { COARSE_INTERVALS, feedOf } from '../shared/feeds.ts'
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
  writer: Pick<RowWriter, 'put'>
}) {
  const { plan, symbol, writer } = options
  const figures = new Map<string, LatestBefore<string>>()
  let nextMs: number | undefined

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
      nextMs ??= Math.ceil(nowMs / GRID_MS) * GRID_MS
      if (nowMs < nextMs + GRACE_MS) return
      const time = nextMs
      nextMs = Math.floor(nowMs / GRID_MS) * GRID_MS + GRID_MS
      if (nowMs - time > LATE_MS) return
      const rows = openAt(time).flatMap((marketId): OpenInterestInput[] => {
        const openInterest = figures.get(marketId)?.at(time)
        return openInterest === undefined
          ? []
          : [{ time, openInterest, openInterestUsd: openInterest, marketId }]
      })
      if (rows.length === 0) return
      const sum = decimalText(rows.reduce((total, row) => add(total, decimal(row.openInterest)), ZERO))
      const all = [{ time, openInterest: sum, openInterestUsd: sum }, ...rows]
      for (const interval of COARSE_INTERVALS)
        if (time % INTERVAL_MS[interval] === 0)
          writer.put(feedOf('open_interest', plan.source, symbol, interval), all)
    },
  }
}
