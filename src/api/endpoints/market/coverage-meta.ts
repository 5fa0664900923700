import type { Feed } from '../../../core/feed.ts'
import { formatTime } from '../../../core/time.ts'
import type { Coverage, GapReason } from '../../../store/coverage.ts'
import type { Finality } from '../../../store/series.ts'
import type { KnownCoverage } from './known-coverage.ts'

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

export function coverageMeta(
  known: KnownCoverage,
  feeds: readonly Feed[],
  finality: readonly Finality[],
  range: { fromMs: number; toMs: number },
  nowMs: number,
): CoverageMeta | Promise<CoverageMeta> {
  const toMs = Math.min(range.toMs, nowMs)
  if (feeds.length === 0 || range.fromMs >= toMs) {
    const [from, to] = [range.fromMs, Math.max(range.fromMs, toMs)]
    return { from: formatTime(from), to: formatTime(to), complete: true, gaps: [] }
  }
  const render = (coverage: Coverage) => metaOf(coverage, range.fromMs, toMs, nowMs)
  const coverage = known.read(feeds, range.fromMs, toMs, finality)
  return coverage instanceof Promise ? coverage.then(render) : render(coverage)
}

function metaOf(coverage: Coverage, fromMs: number, toMs: number, nowMs: number): CoverageMeta {
  const gaps = coverage.gaps.filter((gap) => !isNotYetWritten(gap, toMs, nowMs))
  return {
    from: formatTime(fromMs),
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
