/** Turns funding and open interest from the venue's history into rows, joined values and coverage. */
import type { Feed } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { FundingInput } from '../../core/rows/funding.ts'
import type { OpenInterestInput } from '../../core/rows/open-interest.ts'
import { type RowInputs, rowEncoder } from '../../core/rows/row-kinds.ts'
import type { FundingObservation, OpenInterestObservation } from '../../venues/observation.ts'
import type { HistoryPage, HistoryRange } from '../../venues/venue.ts'
import { COARSE_INTERVALS, feedOf } from '../shared/feeds.ts'
import type { SymbolParts } from './symbol-parts.ts'

export function fundingRow(observation: FundingObservation): FundingInput {
  return {
    time: observation.fundingTimeMs,
    fundingRate: observation.fundingRate,
    nextFundingTime: observation.nextFundingTimeMs,
  }
}

/** A row that the store refuses is not joined, because it would be unknown after a restart and candles would change. */
function storable<D extends 'funding' | 'open_interest'>(
  feed: Feed<D>,
  rows: readonly RowInputs[D][],
): RowInputs[D][] {
  const encode = rowEncoder(feed)
  return rows.filter((row) => {
    try {
      encode(row)
      return true
    } catch {
      return false
    }
  })
}

export function putFunding(parts: SymbolParts, rows: readonly FundingInput[]): void {
  const feed = feedOf('funding', parts.plan.source, parts.symbol)
  for (const row of storable(feed, rows)) parts.derivatives?.addFunding(row)
  parts.writer.put(feed, rows)
}

/** A sample on the five-minute grid is also the sample of every coarser grid that it lies on. */
export function putOpenInterest(parts: SymbolParts, rows: readonly OpenInterestInput[]): void {
  const feed = feedOf('open_interest', parts.plan.source, parts.symbol, '5m')
  for (const row of storable(feed, rows)) parts.derivatives?.addOpenInterest(row)
  for (const interval of COARSE_INTERVALS) {
    const own = rows.filter((row) => row.time % INTERVAL_MS[interval] === 0)
    parts.writer.put(feedOf('open_interest', parts.plan.source, parts.symbol, interval), own)
  }
}

/** Requests a range; returns the instant up to which the venue's answer is settled. */
export async function requestFunding(
  parts: SymbolParts,
  range: HistoryRange,
  isUrgent = false,
): Promise<number> {
  const feed = feedOf('funding', parts.plan.source, parts.symbol)
  return walk(parts, { topic: 'funding', range, isUrgent }, (page) => {
    const rows = page.observations.filter((row): row is FundingObservation => row.kind === 'funding')
    putFunding(parts, rows.map(fundingRow))
    recordPageCoverage(parts, [feed], page)
  })
}

export async function requestOpenInterest(
  parts: SymbolParts,
  range: HistoryRange,
  isUrgent = false,
): Promise<number> {
  const feeds = COARSE_INTERVALS.map((each) => feedOf('open_interest', parts.plan.source, parts.symbol, each))
  return walk(parts, { topic: 'open_interest', range, isUrgent }, (page) => {
    const rows = page.observations
      .filter((row): row is OpenInterestObservation => row.kind === 'open_interest' && row.valueUsd !== null)
      .filter((row) => row.venueTimeMs % INTERVAL_MS['5m'] === 0)
    putOpenInterest(
      parts,
      rows.map((row) => ({
        time: row.venueTimeMs,
        openInterest: row.openInterest,
        openInterestUsd: row.valueUsd ?? '0',
      })),
    )
    recordPageCoverage(parts, feeds, page)
  })
}

async function walk(
  { venue, symbol, signal, writer }: SymbolParts,
  request: { topic: 'funding' | 'open_interest'; range: HistoryRange; isUrgent: boolean },
  take: (page: HistoryPage) => void,
): Promise<number> {
  const { range } = request
  let settledMs = range.fromMs
  if (range.toMs <= range.fromMs) return settledMs
  for await (const page of venue.history({ ...request, symbol }, { signal })) {
    take(page)
    for (const { range: lost } of page.missing) settledMs = Math.max(settledMs, lost.toMs)
    settledMs = Math.max(settledMs, page.covered?.toMs ?? settledMs)
    await writer.ready()
  }
  return settledMs
}

/** The covered range of a page is observed; what the venue does not have is a gap with the venue's reason. */
export function recordPageCoverage(
  parts: Pick<SymbolParts, 'writer' | 'series' | 'tracker'>,
  feeds: readonly Parameters<SymbolParts['tracker']['confirm']>[0][],
  page: HistoryPage,
): void {
  for (const feed of feeds) {
    if (page.covered !== null) {
      parts.tracker.confirm(feed, page.covered.fromMs, page.covered.toMs)
      parts.writer.final(feed, page.covered.toMs)
    }
    for (const { range, reason } of page.missing)
      parts.tracker.missing(feed, range.fromMs, range.toMs, reason)
  }
}
