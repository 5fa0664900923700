import { formatTime } from '../../../core/time.ts'
import type { Coverage, GapReason, Span } from '../../../store/coverage.ts'

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

/** `meta.coverage` of the part of `covered` that is in the past. */
export function coverageMeta(coverage: Coverage, covered: Span, nowMs: number): CoverageMeta {
  const toMs = Math.max(covered.from, Math.min(covered.to, nowMs))
  const gaps = coverage.gaps.filter((gap) => !isNotYetWritten(gap, toMs, nowMs))
  return {
    from: formatTime(covered.from),
    to: formatTime(toMs),
    complete: gaps.length === 0,
    gaps: gaps.map(({ source, from, to, reason }) => ({
      source,
      from: formatTime(from),
      to: formatTime(to),
      reason,
    })),
  }
}

function isNotYetWritten(gap: Coverage['gaps'][number], toMs: number, nowMs: number): boolean {
  return gap.reason === 'not_observed' && gap.to === toMs && nowMs - gap.from <= WRITE_DELAY_MS
}
