import type { DatabaseSync } from 'node:sqlite'
import type { Feed } from '../../core/feed.ts'
import type { Coverage } from '../coverage.ts'
import { coverageOf, fillGaps, type StoredSpan } from '../spans/coverage-spans.ts'

export function coverageReader(database: DatabaseSync, feedId: (feed: Feed) => number | undefined) {
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
    return fillGaps(stored, from, to, start === undefined ? undefined : Number(start))
  }

  return {
    read: (feeds: readonly Feed[], from: number, to: number): Coverage =>
      coverageOf(feeds, spansOf, from, to),
  }
}

export type CoverageReader = ReturnType<typeof coverageReader>
