import { formatTime } from '../../../core/time.ts'
import type { Coverage, Gap, GapReason, Span } from '../../../store/coverage.ts'

/** `meta.coverage` of a page. */
export interface CoverageMeta {
  from: string | null
  to: string | null
  complete: boolean
  gaps: { source: string; from: string; to: string; reason: GapReason }[]
}

/** Recorders write rows and coverage with at most this delay. */
export const WRITE_DELAY_MS = 15_000

export const NO_COVERAGE: CoverageMeta = { from: null, to: null, complete: true, gaps: [] }

/**
 * `meta.coverage` of the part of `covered` that is in the past. The newest rows may not be written yet, so a gap of a
 * few seconds up to now is left out, and the page then covers the time before it. A gap that begins before a requested
 * end is kept, because a client that continues from that end would miss its rows.
 */
export function coverageMeta(
  coverage: Coverage,
  covered: Span,
  { nowMs, endMs }: { nowMs: number; endMs: number | undefined },
): CoverageMeta {
  const pastMs = Math.max(covered.from, Math.min(covered.to, nowMs))
  const isOpen = (gap: Gap) =>
    gap.reason === 'not_observed' &&
    gap.to === nowMs &&
    nowMs - gap.from <= WRITE_DELAY_MS &&
    (endMs === undefined || endMs > nowMs || gap.from >= endMs)
  const toMs = Math.min(pastMs, ...coverage.gaps.filter(isOpen).map((gap) => gap.from))
  const gaps = coverage.gaps.filter((gap) => gap.from < toMs)
  return {
    from: formatTime(covered.from),
    to: formatTime(toMs),
    complete: gaps.length === 0,
    gaps: gaps.map(({ source, from, to, reason }) => ({
      source,
      from: formatTime(from),
      to: formatTime(Math.min(to, toMs)),
      reason,
    })),
  }
}
