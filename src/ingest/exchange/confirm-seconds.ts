/**
 * Records seconds built from trades as observed after the venue has answered for them. A second of ours in which the
 * venue has no trade (one of our trades had a wrong time or number) cannot be removed any more. It becomes a gap that is
 * not requested again, because no answer would change it.
 */
import type { Feed } from '../../core/feed.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import { uncovered } from '../shared/uncovered.ts'

const SECOND_MS = 1_000

export function confirmSeconds(
  tracker: Pick<CoverageTracker, 'confirm' | 'lost'>,
  feed: Feed,
  range: HistoryRange,
  /** Open times, ascending. */
  seconds: { readonly ours: readonly number[]; readonly answered: readonly number[] },
): void {
  const answered = new Set(seconds.answered)
  const disproved = seconds.ours
    .filter((openMs) => openMs >= range.fromMs && openMs < range.toMs && !answered.has(openMs))
    .map((openMs) => ({ fromMs: openMs, toMs: openMs + SECOND_MS }))
  for (const { fromMs, toMs } of uncovered(range, disproved)) tracker.confirm(feed, fromMs, toMs)
  for (const { fromMs, toMs } of disproved) tracker.lost(feed, fromMs, toMs, 'not_provided')
}
