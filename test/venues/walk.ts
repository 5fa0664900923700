/** Walks a venue's history to its end and proves that the pages settle the range without gaps or overlaps. */
import assert from 'node:assert/strict'
import type { DataObservation } from '../../src/venues/observation.ts'
import type { HistoryRange, HistoryRequest, Venue } from '../../src/venues/venue.ts'

export interface Walked {
  readonly observations: DataObservation[]
  readonly missing: HistoryRange[]
  /** Where the settled part ends. */
  readonly settledMs: number
  readonly pages: number
}

export async function walkAll(venue: Venue, request: HistoryRequest): Promise<Walked> {
  const observations: DataObservation[] = []
  const missing: HistoryRange[] = []
  let settledMs = request.range.fromMs
  let pages = 0
  for await (const page of venue.history(request, { signal: AbortSignal.timeout(20_000) })) {
    pages += 1
    observations.push(...page.observations)
    const lost = page.missing.map((each) => each.range)
    missing.push(...lost)
    const ranges = [...lost, ...(page.covered === null ? [] : [page.covered])].sort(
      (a, b) => a.fromMs - b.fromMs,
    )
    for (const range of ranges) {
      assert.equal(range.fromMs, settledMs, 'each range starts where the one before ended')
      assert.ok(range.toMs > range.fromMs && range.toMs <= request.range.toMs)
      settledMs = range.toMs
    }
  }
  return { observations, missing, settledMs, pages }
}
