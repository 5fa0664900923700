/**
 * The values that are joined to the candles of a perpetual: the last rate settled before the candle's end, and the last
 * open interest observed up to it. Both are read only from the stored rows, with all their digits, so that a candle
 * built live, after a restart or by a backfill gets the same values.
 */
import type { FundingInput } from '../../core/rows/funding.ts'
import type { OpenInterestInput } from '../../core/rows/open-interest.ts'
import type { Source } from '../../core/source.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { scanExactRows } from '../../store/scan-rows.ts'
import type { SeriesStore } from '../../store/series.ts'
import { feedOf } from '../shared/feeds.ts'

export interface Derivatives {
  fundingAt(closeMs: number): string | null
  openInterestAt(closeMs: number): string | null
  addFunding(row: FundingInput): void
  addOpenInterest(row: OpenInterestInput): void
  /** Time of the newest known settlement. */
  readonly newestFundingMs: number | undefined
}

/** Joined values are kept for as long as candles may be rebuilt. */
export const DERIVATIVES_KEPT_MS = 40 * 86_400_000

export async function loadDerivatives(options: {
  series: SeriesStore
  source: Source
  symbol: AssetSymbol
  fromMs: number
}): Promise<Derivatives> {
  const { series, source, symbol, fromMs } = options
  const funding = createTimeline()
  const interest = createTimeline()
  const range = { from: fromMs, to: Number.MAX_SAFE_INTEGER }
  for await (const row of scanExactRows(series, feedOf('funding', source, symbol), range))
    funding.add(Date.parse(row.timestamp), row.funding_rate)
  for await (const row of scanExactRows(series, feedOf('open_interest', source, symbol, '5m'), range))
    interest.add(Date.parse(row.timestamp), row.open_interest)
  return {
    fundingAt: (closeMs) => funding.before(closeMs),
    openInterestAt: (closeMs) => interest.before(closeMs + 1),
    addFunding: (row) => funding.add(row.time, String(row.fundingRate)),
    addOpenInterest: (row) => interest.add(row.time, String(row.openInterest)),
    get newestFundingMs() {
      return funding.newestMs()
    },
  }
}

/** Values mostly arrive in order; a backfill adds older ones. */
function createTimeline() {
  const values = new Map<number, string>()
  let times: number[] = []
  let isSorted = true
  return {
    add(timeMs: number, value: string) {
      if (!values.has(timeMs)) {
        if ((times.at(-1) ?? Number.NEGATIVE_INFINITY) > timeMs) isSorted = false
        times.push(timeMs)
      }
      values.set(timeMs, value)
    },
    /** The last value before an instant. */
    before(timeMs: number): string | null {
      if (!isSorted) {
        times = times.sort((a, b) => a - b)
        isSorted = true
      }
      let low = 0
      let high = times.length
      while (low < high) {
        const middle = (low + high) >>> 1
        if ((times[middle] ?? 0) < timeMs) low = middle + 1
        else high = middle
      }
      const found = times[low - 1]
      return found === undefined ? null : (values.get(found) ?? null)
    },
    newestMs: (): number | undefined =>
      times.length === 0 ? undefined : Math.max(times.at(-1) ?? 0, times.at(-2) ?? 0),
  }
}
