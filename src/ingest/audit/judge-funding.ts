/**
 * Compares stored funding rates with those of the venue. The time of the next settlement may move and is not compared.
 */
import { feedName } from '../../core/feed.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { FundingObservation } from '../../venues/observation.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { fundingRow, putFunding } from '../exchange/request-derivatives.ts'
import type { SymbolParts } from '../exchange/symbol-parts.ts'
import { feedOf } from '../shared/feeds.ts'
import { readCertain } from './certain-rows.ts'
import type { WrongRow } from './suspicions.ts'

export async function judgeFunding(
  store: Pick<EnvironmentStore, 'series' | 'coverage'>,
  parts: SymbolParts,
  range: HistoryRange,
): Promise<WrongRow[] | undefined> {
  const { plan, venue, symbol, signal } = parts
  const rates: FundingObservation[] = []
  let toMs = range.fromMs
  for await (const page of venue.history({ topic: 'funding', symbol, range }, { signal })) {
    if (page.missing.length > 0) return undefined
    toMs = page.covered?.toMs ?? toMs
    for (const row of page.observations) if (row.kind === 'funding') rates.push(row)
  }
  if (toMs < range.toMs) return undefined
  const feed = feedOf('funding', plan.source, symbol)
  const stored = await readCertain(store, feed, range)
  if (stored === undefined) return undefined
  return rates.flatMap((rate): WrongRow[] => {
    const { fundingTimeMs: timeMs, fundingRate } = rate
    // A rate may be published some milliseconds late, under the hour before the range.
    if (timeMs < range.fromMs || !stored.isCertain(timeMs, timeMs + 1)) return []
    const row = stored.at(timeMs)
    if (row !== undefined && row.funding_rate === Number(fundingRate)) return []
    return [
      {
        key: `${feedName(feed)}/${timeMs}`,
        truth: fundingRate,
        correct() {
          putFunding(parts, [fundingRow(rate)])
          const what =
            row === undefined
              ? 'a funding rate was missing that the venue has'
              : 'a funding rate was not what the venue has'
          return { what, action: 'corrected', feed, fromMs: timeMs, toMs: timeMs + 1 }
        },
      },
    ]
  })
}
