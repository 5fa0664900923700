import type { DatabaseSync } from 'node:sqlite'
import type { CoverageChange } from '../coverage.ts'
import { repaint, type SpanState, type StoredSpan, stateAfter } from '../spans/coverage-spans.ts'
import type { FeedTable, StoredFeed } from './series-feeds.ts'

/** Each change repaints a part of the feed's timeline; adjacent spans with the same state are merged. */
export function coverageWriter(database: DatabaseSync, feeds: FeedTable) {
  const touching = database.prepare(
    `SELECT from_ts AS "from", to_ts AS "to", state FROM coverage_spans
      WHERE feed = ?1 AND to_ts >= ?2 AND from_ts <= ?3
        AND from_ts >= coalesce((SELECT max(from_ts) FROM coverage_spans WHERE feed = ?1 AND from_ts < ?2), ?2)
      ORDER BY from_ts`,
  )
  const remove = database.prepare('DELETE FROM coverage_spans WHERE feed = ? AND from_ts = ?')
  const add = database.prepare('INSERT INTO coverage_spans VALUES (?, ?, ?, ?)')
  const extend = database.prepare(
    `UPDATE coverage_spans SET to_ts = ?3
      WHERE feed = ?1 AND from_ts = (SELECT max(from_ts) FROM coverage_spans WHERE feed = ?1)
        AND state = 'observed' AND from_ts <= ?2 AND to_ts >= ?2 AND to_ts < ?3`,
  )

  const paint = (feed: StoredFeed, from: number, to: number, become: (old: SpanState) => SpanState) => {
    if (!(from < to)) return
    const before = touching.all(feed.id, from, to) as unknown as StoredSpan[]
    const after = repaint(before, from, to, become)
    const same = (a: StoredSpan, b: StoredSpan | undefined) =>
      b !== undefined && a.from === b.from && a.to === b.to && a.state === b.state
    if (before.length === after.length && before.every((span, i) => same(span, after[i]))) return
    for (const span of before) remove.run(feed.id, span.from)
    for (const span of after) add.run(feed.id, span.from, span.to, span.state)
    feeds.changed(feed, from)
  }

  return {
    apply(change: CoverageChange): void {
      const feed = feeds.open(change.feed)
      const { from, to } = change
      // In nearly all cases the newest observed span only becomes a second longer.
      if (change.change === 'observed' && extend.run(feed.id, from, to).changes === 1)
        feeds.changed(feed, from)
      else paint(feed, from, to, stateAfter(change))
    },
    /** Removes everything before an instant. */
    cut: (feed: StoredFeed, before: number) => paint(feed, 0, before, () => null),
  }
}
