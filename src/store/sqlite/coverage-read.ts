import type { DatabaseSync } from 'node:sqlite'
import type { Feed } from '../../core/feed.ts'
import type { Coverage } from '../coverage.ts'
import { coverageOf, fillGaps, type StoredSpan } from '../spans/coverage-spans.ts'

export function coverageReader(database: DatabaseSync, feedId: (feed: Feed) => number | undefined) {
  /** From the span that holds the start of the range, or the next one, up to its end. */
  const touching = database.prepare(
    `SELECT from_ts AS "from", to_ts AS "to", state FROM coverage_spans
      WHERE feed = ?1 AND from_ts < ?3
        AND from_ts >= coalesce((SELECT max(from_ts) FROM coverage_spans WHERE feed = ?1 AND from_ts <= ?2), ?2)
      ORDER BY from_ts`,
  )
  const firstObserved = database.prepare(
    `SELECT from_ts FROM coverage_spans WHERE feed = ? AND state = 'observed' ORDER BY from_ts LIMIT 1`,
  )

  const spansOf = (feed: Feed, from: number, to: number): StoredSpan[] => {
    const id = feedId(feed)
    if (id === undefined) return [{ from, to, state: 'not_observed' }]
    const stored = touching.all(id, from, to) as unknown as StoredSpan[]
    const [first] = stored
    const isAtStart = first !== undefined && first.from <= from
    if (isAtStart && first.state === 'observed' && first.to >= to) return [{ from, to, state: 'observed' }]
    if (isAtStart && first.to <= from) stored.shift()
    return fillGaps(stored, from, to, isAtStart ? startOf(id) : (firstIn(stored) ?? startOf(id)))
  }

  const startOf = (id: number): number | undefined => {
    const start = firstObserved.get(id)?.from_ts
    return start === undefined ? undefined : Number(start)
  }

  return {
    read: (feeds: readonly Feed[], from: number, to: number): Coverage =>
      coverageOf(feeds, spansOf, from, to),
  }
}

const firstIn = (spans: readonly StoredSpan[]) => spans.find(({ state }) => state === 'observed')?.from

export type CoverageReader = ReturnType<typeof coverageReader>
