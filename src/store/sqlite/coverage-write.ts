import type { DatabaseSync } from 'node:sqlite'
import type { GapReason } from '../coverage.ts'
import { repaint, type SpanState, type StoredSpan } from '../spans/coverage-spans.ts'
import type { FeedTable, StoredFeed } from './series-feeds.ts'

export interface CoverageWriter {
  record(feed: StoredFeed, from: number, to: number): void
  recordGap(feed: StoredFeed, from: number, to: number, reason: GapReason): void
  retract(feed: StoredFeed, from: number, to: number): void
  /** Forgets everything before an instant. */
  cut(feed: StoredFeed, before: number): void
}

/**
 * The time line of a feed is a list of spans, each in one state. Every change repaints a stretch of it: what
 * was there decides what it becomes, and touching spans of one state are joined again.
 */
export function coverageWriter(database: DatabaseSync, feeds: FeedTable): CoverageWriter {
  const touching = database.prepare(
    `SELECT from_ts AS "from", to_ts AS "to", state FROM coverage_spans
      WHERE feed = ?1 AND to_ts >= ?2 AND from_ts <= ?3
        AND from_ts >= coalesce((SELECT max(from_ts) FROM coverage_spans WHERE feed = ?1 AND from_ts < ?2), ?2)
      ORDER BY from_ts`,
  )
  const remove = database.prepare('DELETE FROM coverage_spans WHERE feed = ? AND from_ts = ?')
  const add = database.prepare('INSERT INTO coverage_spans VALUES (?, ?, ?, ?)')

  const paint = (feed: StoredFeed, from: number, to: number, become: (old: SpanState) => SpanState) => {
    if (!(from < to)) return
    const before = touching.all(feed.id, from, to) as unknown as StoredSpan[]
    const after = repaint(before, from, to, become)
    const same = (a: StoredSpan, b: StoredSpan | undefined) =>
      b !== undefined && a.from === b.from && a.to === b.to && a.state === b.state
    if (before.length === after.length && before.every((span, i) => same(span, after[i]))) return
    for (const span of before) remove.run(feed.id, span.from)
    for (const span of after) add.run(feed.id, span.from, span.to, span.state)
    if (from < feed.finalBefore) feeds.bump(feed.id)
  }

  return {
    record: (feed, from, to) => paint(feed, from, to, () => 'observed'),
    recordGap: (feed, from, to, reason) =>
      paint(feed, from, to, (old) => (old === 'observed' ? 'observed' : reason)),
    retract: (feed, from, to) => paint(feed, from, to, (old) => (old === 'observed' ? null : old)),
    cut: (feed, before) => paint(feed, 0, before, () => null),
  }
}
