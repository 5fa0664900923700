import { type Dataset, type Feed, feedName } from '../../core/feed.ts'
import { spanOf } from '../books/block.ts'
import type { FeedFilter, RetainOptions } from '../series.ts'
import { cutGroups } from './books-cut.ts'
import { arrayOf } from './columns.ts'
import { coverageCut, writeCoverage } from './coverage-write.ts'
import { type Database, type Queries, statement, type WriteTransaction } from './database.ts'
import {
  dropPartition,
  expiredPartitions,
  type Partition,
  type Partitions,
  seriesTable,
} from './partitions.ts'
import { type LockedFeed, lockFeeds, noteChange, type StateRow, writeChanges } from './series-feeds.ts'
import type { FeedLookup } from './series-lookup.ts'

/** One transaction deletes at most this many rows, so that no other writer waits long for its feed. */
const ROWS_AT_ONCE = 5_000
const GROUPS_AT_ONCE = 200

const OLDER_THAN = statement('older_than', 'SELECT least(now_ms(), $2::bigint) - $1::bigint AS ts')
const LOCK_WAIT = statement('partition_lock_wait', `SELECT set_config('lock_timeout', '2s', true)`)
const LOCK_NOT_AVAILABLE = '55P03'

const deleteOf = (dataset: Dataset) => {
  const table = seriesTable(dataset)
  return statement(
    `expire_${dataset}`,
    `DELETE FROM ${table} WHERE feed_id = $1 AND ts < $2::bigint AND (ts, instrument, seq) <= (
        SELECT ts, instrument, seq FROM (
          SELECT ts, instrument, seq FROM ${table} WHERE feed_id = $1 AND ts < $2
            ORDER BY ts, instrument, seq LIMIT ${ROWS_AT_ONCE}) o
          ORDER BY ts DESC, instrument DESC, seq DESC LIMIT 1)`,
  )
}
const SIZE = statement('partition_size', 'SELECT reltuples AS rows FROM pg_class WHERE oid = to_regclass($1)')
const SIZE_ON_SERVERS = statement(
  'partition_size_on_servers',
  `SELECT sum(greatest(s.result::float8, 0)) AS rows FROM pg_dist_partition p,
      run_command_on_shards(p.logicalrelid, $q$SELECT reltuples FROM pg_class WHERE oid = '%s'::regclass$q$) s
    WHERE p.logicalrelid = to_regclass($1)`,
)
/** A month with fewer rows than this is counted before it is dropped; otherwise the estimate is enough. */
const MAX_COUNTED = 1_000_000
const OTHER_FEEDS = statement(
  'other_feeds',
  'SELECT 1 FROM feeds WHERE dataset = $1 AND id <> ALL ($2::bigint[]) LIMIT 1',
)
const countOf = (dataset: Dataset) =>
  statement(
    `count_expired_${dataset}`,
    `SELECT count(*) AS count FROM ${seriesTable(dataset)} WHERE ts >= $1 AND ts < $2`,
  )
const writtenOf = (dataset: Dataset) =>
  statement(
    `written_expired_${dataset}`,
    `SELECT 1 FROM ${seriesTable(dataset)} WHERE feed_id = $1 AND ts >= $2::bigint AND ts < $3::bigint LIMIT 1`,
  )
const REVISIONS = statement('expire_revisions', 'DELETE FROM series_revisions WHERE feed_id = $1 AND ts < $2')
const edgesOf = (dataset: Dataset) => {
  const table = seriesTable(dataset)
  const edge = (order: string) =>
    `(SELECT ts FROM ${table} WHERE feed_id = $1 AND ts >= $2::bigint ORDER BY ts ${order} LIMIT 1)`
  const groupEdge = (which: 'min' | 'max') => {
    const outermost = `(SELECT ${which}(span) FROM book_groups WHERE feed_id = $1)`
    const [block, tail] = which === 'min' ? ['first_ts', 'tail_first'] : ['last_ts', 'tail_last']
    const outer = which === 'min' ? 'least' : 'greatest'
    return `(SELECT ${which}(${outer}(CASE WHEN rows > 0 THEN ${block} END, CASE WHEN waiting THEN ${tail} END))
        FROM book_groups WHERE feed_id = $1 AND span = ${outermost})`
  }
  return statement(
    `edges_${dataset}`,
    `UPDATE feeds SET first_ts = least(${edge('ASC')}, ${groupEdge('min')}),
        last_ts = greatest(${edge('DESC')}, ${groupEdge('max')}) WHERE id = $1 AND first_ts < $2`,
  )
}

/** A month may have rows of feeds that are not to be touched. */
class OtherFeedsError extends Error {
  override readonly name = 'OtherFeedsError'
}

/** Deletes older rows feed by feed and slice by slice; months that have expired for all feeds are dropped. */
export function retention(parts: { database: Database; lookup: FeedLookup; partitions: Partitions }) {
  const { database, lookup, partitions } = parts

  const commit = async <R>(
    run: (tx: WriteTransaction) => Promise<{ result: R; states: StateRow[] }>,
  ): Promise<R> => {
    const { result, states } = await database.write(run)
    lookup.noteWritten([], states)
    return result
  }

  /** Deletes a slice of a feed. Its coverage is deleted with the first slice, its revisions with the last. */
  const slice = (feed: Feed, id: number, olderThan: number) =>
    commit(async (tx) => {
      const { locked } = await lockFeeds(tx, [id])
      const own = locked.get(id)
      if (own === undefined) throw new Error(`feed ${feedName(feed)} is gone`)
      await writeCoverage(tx, [coverageCut(own, olderThan)])
      const step = await deleteSlice(tx, feed.dataset, own, olderThan)
      if (step.deleted > 0) noteChange(own, 0)
      const states = await writeChanges(tx, [own])
      if (!step.more) await tx.run(edgesOf(feed.dataset), [id, olderThan])
      return { result: step, states }
    })

  /** Drops a month and returns the number of its rows. */
  const dropMonth = (
    dataset: Dataset,
    { ids, olderThan }: { ids: readonly number[]; olderThan: number },
    { name, low, high }: Partition,
  ) =>
    commit(async (tx) => {
      const { locked } = await lockFeeds(tx, ids)
      await tx.rows(LOCK_WAIT)
      await writeCoverage(
        tx,
        [...locked.values()].map((feed) => coverageCut(feed, olderThan)),
      )
      const hasRows = writtenOf(dataset)
      await Promise.all(
        locked.values().map(async (feed) => {
          if ((await tx.rows(hasRows, [feed.id, low, high])).length > 0) noteChange(feed, 0)
        }),
      )
      const [size] = await tx.rows<{ rows: number | null }>(tx.isSpread ? SIZE_ON_SERVERS : SIZE, [name])
      let result = size?.rows ?? 0
      if (result < MAX_COUNTED) {
        const [counted] = await tx.rows<{ count: number }>(countOf(dataset), [low, high])
        result = counted?.count ?? 0
      }
      await dropPartition(tx, name)
      // Asked last, because a feed may be created until the lock of the partition is held.
      const others = await tx.rows(OTHER_FEEDS, [dataset, arrayOf(ids)])
      if (others.length > 0) throw new OtherFeedsError()
      return { result, states: await writeChanges(tx, locked.values()) }
    })

  return async (
    filter: FeedFilter & { dataset: Dataset },
    maxAgeMs: number,
    { feeds: only, betweenSteps = async () => true, nowMs }: RetainOptions = {},
  ): Promise<number> => {
    await partitions.ensureAhead()
    const [row] = await database.rows<{ ts: number }>(OLDER_THAN, [maxAgeMs, nowMs ?? null])
    const olderThan = row?.ts ?? 0
    const names = only && new Set(only.map(feedName))
    const stored = (await lookup.feeds(filter)).map(({ feed }) => feed)
    const feeds = stored.filter((feed) => names?.has(feedName(feed)) !== false)
    await lookup.findMissing(database, feeds)
    let deleted = 0
    if (isWholeDataset(filter) && feeds.length === stored.length) {
      const ids = feeds.map(lookup.id).filter((id) => id !== undefined)
      for (const month of await expiredPartitions(database, seriesTable(filter.dataset), olderThan))
        deleted += await dropMonth(filter.dataset, { ids, olderThan }, month).catch(orNone)
      partitions.forget()
    }
    for (const feed of feeds) {
      const id = lookup.id(feed)
      if (id === undefined) continue
      for (let more = true; more; ) {
        const step = await slice(feed, id, olderThan)
        deleted += step.deleted
        more = step.more
        if (step.deleted > 0 && !(await betweenSteps())) return deleted
      }
    }
    return deleted
  }
}

const isWholeDataset = ({ source, symbol, interval }: FeedFilter) =>
  source === undefined && symbol === undefined && interval === undefined

/** A month that is being read, or has rows of other feeds, is deleted row by row instead. */
function orNone(error: unknown): number {
  if (error instanceof OtherFeedsError) return 0
  if ((error as { code?: unknown }).code === LOCK_NOT_AVAILABLE) return 0
  throw error
}

async function deleteSlice(
  tx: Queries,
  dataset: Dataset,
  feed: LockedFeed,
  olderThan: number,
): Promise<{ deleted: number; more: boolean }> {
  const deleted = await tx.run(deleteOf(dataset), [feed.id, olderThan])
  if (deleted === ROWS_AT_ONCE) return { deleted, more: true }
  const groups = await cutGroups(tx, feed.id, {
    olderThan,
    border: spanOf(olderThan),
    atMost: GROUPS_AT_ONCE,
  })
  if (groups.more) return { deleted: deleted + groups.deleted, more: true }
  await tx.run(REVISIONS, [feed.id, olderThan])
  return { deleted: deleted + groups.deleted, more: false }
}
