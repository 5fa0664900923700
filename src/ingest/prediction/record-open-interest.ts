/** Open interest of yes/no contracts: at each grid point the last figure of every open contract, and their sum. */
import { add, decimal, decimalText, ZERO } from '../../core/decimal.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { OpenInterestInput } from '../../core/rows/open-interest.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { COARSE_INTERVALS, feedOf } from '../shared/feeds.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import type { PredictionPlan } from './market-feeds.ts'

const GRID_MS = INTERVAL_MS['5m']
/** Figures of the instant itself may still be on their way. */
const GRACE_MS = 5_000
/** A grid point that was passed so long ago was not observed. */
const LATE_MS = 30_000

export interface OpenContract {
  readonly marketId: string
  readonly openInterest: string | null
}

/** Gives the function to call every second with the contracts that are open. */
export function recordOpenInterest(options: {
  plan: PredictionPlan
  symbol: AssetSymbol
  writer: RowWriter
}) {
  const { plan, symbol, writer } = options
  let nextMs: number | undefined
  return (nowMs: number, contractsAt: (timeMs: number) => readonly OpenContract[]): void => {
    nextMs ??= Math.ceil(nowMs / GRID_MS) * GRID_MS
    if (nowMs < nextMs + GRACE_MS) return
    const time = nextMs
    nextMs = Math.floor(nowMs / GRID_MS) * GRID_MS + GRID_MS
    if (nowMs - time > LATE_MS) return
    const rows = contractsAt(time).flatMap(({ marketId, openInterest }): OpenInterestInput[] =>
      openInterest === null ? [] : [{ time, openInterest, openInterestUsd: openInterest, marketId }],
    )
    if (rows.length === 0) return
    const sum = decimalText(rows.reduce((total, row) => add(total, decimal(row.openInterest)), ZERO))
    const all = [{ time, openInterest: sum, openInterestUsd: sum }, ...rows]
    for (const interval of COARSE_INTERVALS)
      if (time % INTERVAL_MS[interval] === 0)
        writer.put(feedOf('open_interest', plan.source, symbol, interval), all)
  }
}
