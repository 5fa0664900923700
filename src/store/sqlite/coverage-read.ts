import type { DatabaseSync } from 'node:sqlite'
import type { Feed } from '../../core/feed.ts'
import { SOURCES } from '../../core/source.ts'
import type { Coverage, Gap, GapReason, Span } from '../coverage.ts'

export interface StoredSpan extends Span {
  state: 'observed' | GapReason
}

export interface CoverageReader {
  read(feeds: readonly Feed[], from: number, to: number): Coverage
}

export function coverageReader(
  database: DatabaseSync,
  feedId: (feed: Feed) => number | undefined,
): CoverageReader {
  const holding = database.prepare(
    `SELECT from_ts AS "from", to_ts AS "to", state FROM coverage_spans
      WHERE feed = ? AND from_ts <= ? ORDER BY from_ts DESC LIMIT 1`,
  )
  const following = database.prepare(
    `SELECT from_ts AS "from", to_ts AS "to", state FROM coverage_spans
      WHERE feed = ? AND from_ts > ? AND from_ts < ? ORDER BY from_ts`,
  )
  const firstObserved = database.prepare(
    `SELECT from_ts FROM coverage_spans WHERE feed = ? AND state = 'observed' ORDER BY from_ts LIMIT 1`,
  )

  const spansOf = (feed: Feed, from: number, to: number): StoredSpan[] => {
    const id = feedId(feed)
    if (id === undefined) return [{ from, to, state: 'not_observed' }]
    const first = holding.get(id, from) as StoredSpan | undefined
    if (first?.state === 'observed' && first.to >= to) return [{ from, to, state: 'observed' }]
    const stored = following.all(id, from, to) as unknown as StoredSpan[]
    if (first !== undefined && first.to > from) stored.unshift(first)
    const start = firstObserved.get(id)?.from_ts
    return fillHoles(stored, from, to, start === undefined ? undefined : Number(start))
  }

  return {
    read(feeds, from, to) {
      if (!(from < to)) return { complete: true, observed: [], gaps: [] }
      const gaps: Gap[] = []
      let observed: Span[] = [{ from, to }]
      for (const feed of feeds) {
        const spans = spansOf(feed, from, to)
        const seen: Span[] = []
        for (const { state, ...span } of spans) {
          if (state === 'observed') seen.push(span)
          else gaps.push({ source: feed.source, ...span, reason: state })
        }
        observed = intersect(observed, seen)
      }
      return { complete: gaps.length === 0, observed, gaps: joinGaps(gaps) }
    },
  }
}

/** The time line of [from, to) without holes. */
function fillHoles(
  spans: readonly StoredSpan[],
  from: number,
  to: number,
  start: number | undefined,
): StoredSpan[] {
  const filled: StoredSpan[] = []
  const hole = (a: number, b: number) => {
    const border = start === undefined ? a : Math.min(Math.max(start, a), b)
    if (a < border) filled.push({ from: a, to: border, state: 'before_start' })
    if (border < b) filled.push({ from: border, to: b, state: 'not_observed' })
  }
  let at = from
  for (const span of spans) {
    const begin = Math.max(span.from, from)
    const end = Math.min(span.to, to)
    hole(at, begin)
    filled.push({ from: begin, to: end, state: span.state })
    at = end
  }
  hole(at, to)
  return filled
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

/** Several feeds of one source may miss the same time: it is listed once per reason. */
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
