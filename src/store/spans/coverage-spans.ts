/** Operations on coverage. The timeline of a feed is a list of spans that never overlap, each with one state. */

import type { Feed } from '../../core/feed.ts'
import { SOURCES } from '../../core/source.ts'
import type { Coverage, CoverageChange, Gap, GapReason, Span } from '../coverage.ts'

export interface StoredSpan extends Span {
  state: 'observed' | GapReason
}

/** The state of a span; null if nothing is recorded. */
export type SpanState = StoredSpan['state'] | null

/** The new state of each old state after a change. */
export function stateAfter(change: CoverageChange): (old: SpanState) => SpanState {
  if (change.change === 'gap') {
    const { reason, unlessKnown } = change
    return unlessKnown === true ? (old) => old ?? reason : (old) => (old === 'observed' ? 'observed' : reason)
  }
  return change.change === 'observed' ? () => 'observed' : (old) => (old === 'observed' ? null : old)
}

/** The spans after repainting [from, to), sorted and merged. */
export function repaint(
  spans: readonly StoredSpan[],
  from: number,
  to: number,
  become: (old: SpanState) => SpanState,
): StoredSpan[] {
  const painted: StoredSpan[] = []
  const push = (start: number, end: number, state: SpanState) => {
    if (start >= end || state === null) return
    const last = painted.at(-1)
    if (last !== undefined && last.to === start && last.state === state) last.to = end
    else painted.push({ from: start, to: end, state })
  }
  let at = from
  for (const span of spans) {
    push(span.from, Math.min(span.to, from), span.state)
    const start = Math.max(span.from, from)
    const end = Math.min(span.to, to)
    if (start < end) {
      push(at, start, become(null))
      push(start, end, become(span.state))
      at = end
    }
    if (span.to > to) {
      push(at, to, become(null))
      at = to
      push(Math.max(span.from, to), span.to, span.state)
    }
  }
  push(at, to, become(null))
  return painted
}

/**
 * The timeline of [from, to) without blanks: time without a span is `before_start` before the first observation and
 * `not_observed` after it.
 */
export function fillGaps(
  spans: readonly StoredSpan[],
  from: number,
  to: number,
  start: number | undefined,
): StoredSpan[] {
  const filled: StoredSpan[] = []
  const fill = (a: number, b: number) => {
    const border = start === undefined ? a : Math.min(Math.max(start, a), b)
    if (a < border) filled.push({ from: a, to: border, state: 'before_start' })
    if (border < b) filled.push({ from: border, to: b, state: 'not_observed' })
  }
  let at = from
  for (const span of spans) {
    const begin = Math.max(span.from, from)
    const end = Math.min(span.to, to)
    fill(at, begin)
    filled.push({ from: begin, to: end, state: span.state })
    at = end
  }
  fill(at, to)
  return filled
}

/** What all feeds observed, and the gaps of each feed. */
export function coverageOf(
  feeds: readonly Feed[],
  spansOf: (feed: Feed, from: number, to: number) => readonly StoredSpan[],
  from: number,
  to: number,
): Coverage {
  if (!(from < to)) return { complete: true, observed: [], gaps: [] }
  const gaps: Gap[] = []
  let observed: Span[] = [{ from, to }]
  for (const feed of feeds) {
    const seen: Span[] = []
    for (const { state, ...span } of spansOf(feed, from, to)) {
      if (state === 'observed') seen.push(span)
      else gaps.push({ source: feed.source, ...span, reason: state })
    }
    observed = intersect(observed, seen)
  }
  return { complete: gaps.length === 0, observed, gaps: joinGaps(gaps) }
}

function intersect(a: readonly Span[], b: readonly Span[]): Span[] {
  const both: Span[] = []
  let i = 0
  let j = 0
  for (let x = a[i], y = b[j]; x !== undefined && y !== undefined; x = a[i], y = b[j]) {
    const from = Math.max(x.from, y.from)
    const to = Math.min(x.to, y.to)
    if (from < to) both.push({ from, to })
    if (x.to < y.to) i++
    else j++
  }
  return both
}

/** Several feeds of one source may miss the same time, which is listed once per reason. */
function joinGaps(gaps: readonly Gap[]): Gap[] {
  const rank = (gap: Gap) => SOURCES.indexOf(gap.source)
  const byKind = [...gaps].sort(
    (a, b) => rank(a) - rank(b) || a.reason.localeCompare(b.reason) || a.from - b.from || a.to - b.to,
  )
  const joined: Gap[] = []
  for (const gap of byKind) {
    const last = joined.at(-1)
    if (last && last.source === gap.source && last.reason === gap.reason && gap.from <= last.to) {
      last.to = Math.max(last.to, gap.to)
    } else joined.push({ ...gap })
  }
  return joined.sort(
    (a, b) => a.from - b.from || rank(a) - rank(b) || a.to - b.to || a.reason.localeCompare(b.reason),
  )
}
