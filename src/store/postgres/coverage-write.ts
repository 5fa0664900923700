/**
 * Every change repaints part of a feed's timeline and merges touching spans of one state. The newest span mostly grows
 * by a second at a time; while it is observed, it is kept in the row of the feed, which every write updates anyway.
 */
import type { CoverageChange } from '../coverage.ts'
import { repaint, type SpanState, type StoredSpan, stateAfter } from '../spans/coverage-spans.ts'
import { arrayOf } from './columns.ts'
import { type Queries, statement } from './database.ts'
import { type LockedFeed, noteChange } from './series-feeds.ts'

const TOUCHING = statement(
  'coverage_touching',
  `SELECT from_ts AS "from", to_ts AS "to", state FROM coverage_spans
    WHERE feed_id = $1 AND to_ts >= $2 AND from_ts <= $3
      AND from_ts >= coalesce((SELECT max(from_ts) FROM coverage_spans WHERE feed_id = $1 AND from_ts < $2), $2)
    ORDER BY from_ts`,
)
const FIRST_OBSERVED = statement(
  'coverage_first',
  `SELECT from_ts FROM coverage_spans WHERE feed_id = $1 AND state = 'observed' ORDER BY from_ts LIMIT 1`,
)
const REMOVE = statement(
  'coverage_remove',
  `DELETE FROM coverage_spans s USING unnest($1::bigint[], $2::bigint[]) AS c (feed_id, from_ts)
    WHERE s.feed_id = c.feed_id AND s.from_ts = c.from_ts`,
)
const ADD = statement(
  'coverage_add',
  `INSERT INTO coverage_spans (feed_id, from_ts, to_ts, state)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])`,
)

export type FeedChange = { readonly feed: LockedFeed; readonly from: number; readonly to: number } & {
  readonly become: (old: SpanState) => SpanState
}

export function feedChange(feed: LockedFeed, change: CoverageChange): FeedChange {
  return { feed, from: change.from, to: change.to, become: stateAfter(change) }
}

/** Removes all coverage before a time. */
export function coverageCut(feed: LockedFeed, before: number): FeedChange {
  return { feed, from: 0, to: before, become: () => null }
}

/** Applies the changes of each feed in their order. */
export async function writeCoverage(tx: Queries, changes: readonly FeedChange[]): Promise<void> {
  const byFeed = new Map<LockedFeed, FeedChange[]>()
  for (const change of changes) {
    if (!(change.from < change.to)) continue
    const own = byFeed.get(change.feed) ?? []
    byFeed.set(change.feed, own)
    own.push(change)
  }
  const edited = await Promise.all([...byFeed].map(([feed, own]) => editFeed(tx, feed, own)))
  const removed = edited.flatMap(({ feed, removed }) => removed.map((from) => ({ feed, from })))
  const added = edited.flatMap(({ feed, added }) => added.map((span) => ({ feed, ...span })))
  const done: Promise<unknown>[] = []
  if (removed.length > 0)
    done.push(
      tx.run(REMOVE, [arrayOf(removed.map(({ feed }) => feed.id)), arrayOf(removed.map(({ from }) => from))]),
    )
  if (added.length > 0)
    done.push(
      tx.run(ADD, [
        arrayOf(added.map(({ feed }) => feed.id)),
        arrayOf(added.map(({ from }) => from)),
        arrayOf(added.map(({ to }) => to)),
        added.map(({ state }) => state),
      ]),
    )
  for (const { feed, lostFirst } of edited) if (lostFirst) done.push(findFirst(tx, feed))
  await Promise.all(done)
}

interface Edit {
  readonly feed: LockedFeed
  /** The starts of spans that are deleted from the table. */
  readonly removed: readonly number[]
  readonly added: readonly StoredSpan[]
  /** Whether the first observation may have changed. */
  readonly lostFirst: boolean
}

async function editFeed(tx: Queries, feed: LockedFeed, changes: readonly FeedChange[]): Promise<Edit> {
  const isGrowing = changes.every((change) => growsOpen(feed, change))
  if (isGrowing) {
    for (const change of changes) grow(feed, change)
    return { feed, removed: [], added: [], lostFirst: false }
  }
  const low = Math.min(...changes.map(({ from }) => from))
  const high = Math.max(...changes.map(({ to }) => to))
  const stored = await tx.rows<StoredSpan>(TOUCHING, [feed.id, low, high])
  const { open } = feed
  const isOpenTouched = open !== undefined && open.to >= low && open.from <= high
  const before: StoredSpan[] = isOpenTouched ? [...stored, { ...open, state: 'observed' }] : stored
  let after: readonly StoredSpan[] = before
  for (const { from, to, become } of changes) {
    const painted = repaint(after, from, to, become)
    if (!areSame(after, painted)) noteChange(feed, from)
    after = painted
  }
  if (areSame(before, after)) return { feed, removed: [], added: [], lostFirst: false }

  const newest = after.at(-1)
  // An open span after the changed time stays as it is.
  const isNewestHere = open === undefined || isOpenTouched || open.to < low
  let kept = after
  if (open !== undefined && open.to < low) kept = [{ ...open, state: 'observed' }, ...after]
  if (isNewestHere) {
    feed.open = undefined
    if (newest?.state === 'observed' && newest.to >= feed.coveredTo) {
      feed.open = { from: newest.from, to: newest.to }
      kept = kept.slice(0, -1)
    }
  }
  feed.coveredTo = Math.max(feed.coveredTo, newest?.to ?? 0)
  const first = after.find(({ state }) => state === 'observed')?.from
  const hadFirst = before.some(({ from, state }) => state === 'observed' && from === feed.observedFrom)
  if (first !== undefined && (feed.observedFrom === null || first < feed.observedFrom))
    feed.observedFrom = first
  const lostFirst = hadFirst && first !== feed.observedFrom
  const [were, are] = [new Set(stored.map(nameOf)), new Set(kept.map(nameOf))]
  const gone = stored.filter((span) => !are.has(nameOf(span)))
  const fresh = kept.filter((span) => !were.has(nameOf(span)))
  return { feed, removed: gone.map(({ from }) => from), added: fresh, lostFirst }
}

const isObserving = ({ become }: FeedChange) =>
  become(null) === 'observed' && become('venue_down') === 'observed'

/** Whether a change at most extends the open span and leaves the rest of the timeline untouched. */
function growsOpen({ open }: LockedFeed, change: FeedChange): boolean {
  return open !== undefined && open.from <= change.from && change.from <= open.to && isObserving(change)
}

function grow(feed: LockedFeed, { from, to }: FeedChange): void {
  if (feed.open === undefined || to <= feed.open.to) return
  feed.open = { from: feed.open.from, to }
  feed.coveredTo = Math.max(feed.coveredTo, to)
  noteChange(feed, from)
}

async function findFirst(tx: Queries, feed: LockedFeed): Promise<void> {
  const [row] = await tx.rows<{ from_ts: number }>(FIRST_OBSERVED, [feed.id])
  feed.observedFrom = row?.from_ts ?? feed.open?.from ?? null
}

const nameOf = ({ from, to, state }: StoredSpan) => `${from}/${to}/${state}`

function isSame(a: StoredSpan, b: StoredSpan | undefined): boolean {
  return b !== undefined && a.from === b.from && a.to === b.to && a.state === b.state
}

function areSame(a: readonly StoredSpan[], b: readonly StoredSpan[]): boolean {
  return a.length === b.length && a.every((span, i) => isSame(span, b[i]))
}
