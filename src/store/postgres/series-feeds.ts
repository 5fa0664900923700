/** The writer's view of feeds: locked for the whole transaction, in the order of their ids. */
import { type Feed, feedName } from '../../core/feed.ts'
import type { Span } from '../coverage.ts'
import { arrayOf } from './columns.ts'
import { type Queries, statement, type WriteTransaction } from './database.ts'
import { lockUntilSeen } from './one-moment.ts'

/** Epochs and versions as they are compared outside; each server timeline has its own range (connection.ts). */
export const servedNumber = (column: string) => `${column} + current_setting('tapeline.number_base')::bigint`

/** Selects both the epoch and the version. */
export const servedNumbers = (table: string) =>
  `${servedNumber(`${table}.epoch`)} AS epoch, ${servedNumber(`${table}.version`)} AS version`

const CREATE = statement(
  'feeds_create',
  `INSERT INTO feeds (id, dataset, source, symbol, interval) OVERRIDING SYSTEM VALUE
    SELECT next_number('feeds_id_seq'), * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
    ON CONFLICT DO NOTHING`,
)
export const FIND_FEEDS = statement(
  'feeds_find',
  `SELECT id, dataset, source, symbol, interval FROM feeds
    WHERE (dataset, source, symbol, interval) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]))`,
)
const LOCK = statement(
  'feeds_lock',
  `SELECT id, final_before, observed_from, covered_to, open_from, open_to, now_ms() AS now FROM feeds
    WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE`,
)
const CHANGE = statement(
  'feeds_change',
  `UPDATE feeds AS f SET version = f.version + 1, epoch = f.epoch + c.epochs,
      corrections = f.corrections + c.corrections, final_before = greatest(f.final_before, c.final_before),
      first_ts = least(f.first_ts, c.first_ts), last_ts = greatest(f.last_ts, c.last_ts),
      observed_from = c.observed_from, covered_to = c.covered_to, open_from = c.open_from, open_to = c.open_to
    FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
        $8::bigint[], $9::bigint[], $10::bigint[])
      AS c (id, epochs, corrections, final_before, first_ts, last_ts, observed_from, covered_to, open_from, open_to)
    WHERE f.id = c.id
    RETURNING f.id, f.final_before, ${servedNumbers('f')}`,
)

export interface NamedFeedRow {
  id: number
  dataset: string
  source: string
  symbol: string
  interval: string
}

interface LockedRow {
  id: number
  final_before: number
  observed_from: number | null
  covered_to: number
  open_from: number | null
  open_to: number | null
  now: number
}

export interface StateRow {
  id: number
  final_before: number
  epoch: number
  version: number
}

/** What became of the rows of a write. */
interface RowCounts {
  inserted: number
  unchanged: number
  rewritten: number
  corrected: number
}

/** A feed that this transaction has locked, and the changes to it. */
export interface LockedFeed {
  readonly id: number
  readonly counts: RowCounts
  finalBefore: number
  observedFrom: number | null
  coveredTo: number
  /** The newest span, while it is an observation that still grows. */
  open: Span | undefined
  isChanged: boolean
  isFinalChanged: boolean
  corrections: number
  firstTs: number | null
  lastTs: number | null
}

/** The columns that identify feeds. */
export function namesOf(feeds: readonly Feed[]): string[][] {
  return [
    feeds.map(({ dataset }) => dataset),
    feeds.map(({ source }) => source),
    feeds.map(({ symbol }) => symbol),
    feeds.map(({ interval }) => interval),
  ]
}

/** Creates missing feeds in the same order in all processes, so that two that create the same ones do not deadlock. */
export async function createFeeds(tx: Queries, feeds: readonly Feed[]): Promise<NamedFeedRow[]> {
  const sorted = [...feeds].sort((a, b) => (feedName(a) < feedName(b) ? -1 : 1))
  const names = namesOf(sorted)
  const [, found] = await Promise.all([tx.run(CREATE, names), tx.rows<NamedFeedRow>(FIND_FEEDS, names)])
  return found
}

export async function lockFeeds(
  tx: Queries,
  ids: readonly number[],
): Promise<{ locked: Map<number, LockedFeed>; now: number }> {
  const rows = await tx.rows<LockedRow>(LOCK, [arrayOf(ids)])
  const locked = new Map(
    rows.map((row) => [
      row.id,
      {
        id: row.id,
        counts: { inserted: 0, unchanged: 0, rewritten: 0, corrected: 0 },
        finalBefore: row.final_before,
        observedFrom: row.observed_from,
        coveredTo: row.covered_to,
        open:
          row.open_from === null || row.open_to === null
            ? undefined
            : { from: row.open_from, to: row.open_to },
        isChanged: false,
        isFinalChanged: false,
        corrections: 0,
        firstTs: null,
        lastTs: null,
      },
    ]),
  )
  return { locked, now: rows[0]?.now ?? 0 }
}

/** Records that something of the feed changed at this time or after it. */
export function noteChange(feed: LockedFeed, ts: number): void {
  feed.isChanged = true
  feed.isFinalChanged ||= ts < feed.finalBefore
}

export function finalizeFeed(feed: LockedFeed, before: number): void {
  if (before <= feed.finalBefore) return
  feed.finalBefore = before
  noteChange(feed, before)
}

/** Gives the changed feeds their new epochs and versions, as the last step of a write. */
export async function writeChanges(tx: WriteTransaction, locked: Iterable<LockedFeed>): Promise<StateRow[]> {
  const changed = [...locked].filter(({ isChanged }) => isChanged)
  if (changed.length === 0) return []
  const column = (of: (feed: LockedFeed) => number | null | undefined) =>
    `{${changed.map((feed) => of(feed) ?? 'NULL').join()}}`
  if (tx.isSpread)
    await lockUntilSeen(
      tx,
      changed.map(({ id }) => id),
    )
  return tx.rows<StateRow>(CHANGE, [
    column(({ id }) => id),
    column(({ isFinalChanged }) => (isFinalChanged ? 1 : 0)),
    column(({ corrections }) => corrections),
    column(({ finalBefore }) => finalBefore),
    column(({ firstTs }) => firstTs),
    column(({ lastTs }) => lastTs),
    column(({ observedFrom }) => observedFrom),
    column(({ coveredTo }) => coveredTo),
    column(({ open }) => open?.from),
    column(({ open }) => open?.to),
  ])
}
