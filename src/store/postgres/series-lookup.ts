import { type Feed, feedName } from '../../core/feed.ts'
import { SOURCES } from '../../core/source.ts'
import { type Clock, elapsedMs } from '../../kit/clock.ts'
import { textWithBooks } from '../books/compose.ts'
import { unpackSides } from '../books/pack-sides.ts'
import { endOf } from '../order/arms.ts'
import type { FeedFilter, FeedInfo, Finality, Revision, RevisionQuery } from '../series.ts'
import { arrayOf } from './columns.ts'
import { type Database, type Queries, statement } from './database.ts'
import { FIND_FEEDS, type NamedFeedRow, namesOf, type StateRow, servedNumbers } from './series-feeds.ts'
import type { KnownTimes } from './series-window.ts'

const STATE = statement(
  'feeds_state',
  `SELECT id, final_before, ${servedNumbers('feeds')} FROM feeds WHERE id = ANY ($1::bigint[])`,
)
const LIST = statement(
  'feeds_list',
  `SELECT id, dataset, source, symbol, interval, final_before, ${servedNumbers('feeds')}, corrections, first_ts,
      last_ts FROM feeds
    WHERE ($1::text IS NULL OR dataset = $1) AND ($2::text IS NULL OR source = $2)
      AND ($3::text IS NULL OR symbol = $3) AND ($4::text IS NULL OR interval = $4)
    ORDER BY dataset, source, symbol, interval`,
)
const EARLIEST = statement(
  'feeds_earliest',
  `SELECT min(first_ts) AS ts FROM feeds
    WHERE ($1::text IS NULL OR dataset = $1) AND ($2::text IS NULL OR source = $2)
      AND ($3::text IS NULL OR symbol = $3) AND ($4::text IS NULL OR interval = $4)`,
)
const ANY_FEED = statement('feeds_any', 'SELECT 1 FROM feeds LIMIT 1')
const REVISIONS = statement(
  'revisions',
  `SELECT ts, instrument, seq, revision, recorded_at, superseded_at, text, books FROM series_revisions
    WHERE feed_id = $1 AND ts >= $2 AND ts < $3 AND ($4::text IS NULL OR instrument = $4)
    ORDER BY ts, instrument, seq, revision LIMIT $5`,
)

interface ListedRow extends NamedFeedRow, StateRow {
  corrections: number
  first_ts: number | null
  last_ts: number | null
}

interface RevisionRow {
  ts: number
  instrument: string
  seq: number
  revision: number
  recorded_at: number
  superseded_at: number
  text: string
  books: Buffer | null
}

const filterOf = ({ dataset, source, symbol, interval }: FeedFilter) => [
  dataset ?? null,
  source ?? null,
  symbol ?? null,
  interval ?? null,
]

/** Finds feeds and remembers their ids, states and times. */
export function feedLookup(database: Database, clock: Clock) {
  /** The id of an existing feed never changes, so only a missing one is looked up again. */
  const ids = new Map<string, number>()
  const remember = (rows: readonly NamedFeedRow[]) => {
    for (const row of rows) ids.set(feedName(row as unknown as Feed), row.id)
  }
  const id = (feed: Feed): number | undefined => ids.get(feedName(feed))

  /**
   * States by id, with the time at which their read began. A read that began before a newer state was noted is ignored.
   */
  const states = new Map<number, { state: StateRow; atMs: number; order: number }>()
  /** The times of the first and last rows, by feed id. */
  const times = new Map<number, KnownTimes>()
  let order = 0
  const note = (rows: Iterable<StateRow>, atMs: number, begun: number) => {
    for (const state of rows) {
      const known = states.get(state.id)
      if (known === undefined || known.order <= begun) states.set(state.id, { state, atMs, order: begun })
    }
  }
  /**
   * Forgets those of the ids that no longer exist, because a standby that lacked their feeds took over. The feeds get
   * other ids when they are written again.
   */
  const forgetMissing = (known: readonly number[], found: { has(id: number): boolean }) => {
    const missing = new Set(known.filter((each) => !found.has(each)))
    if (missing.size === 0) return
    for (const [name, each] of ids) if (missing.has(each)) ids.delete(name)
    for (const each of missing) {
      states.delete(each)
      times.delete(each)
    }
  }
  const finalityOf = (feed: Feed): Finality => {
    const known = id(feed)
    const state = known === undefined ? undefined : states.get(known)?.state
    return {
      feed,
      before: state?.final_before ?? 0,
      epoch: state?.epoch ?? 0,
      version: state?.version ?? 0,
    }
  }
  const findMissing = async (queries: Queries, feeds: readonly Feed[]): Promise<void> => {
    const missing = feeds.filter((feed) => id(feed) === undefined)
    if (missing.length > 0) remember(await queries.rows<NamedFeedRow>(FIND_FEEDS, namesOf(missing)))
  }
  const readFinality = async (feeds: readonly Feed[]): Promise<Finality[]> => {
    const [atMs, begun] = [elapsedMs(clock), ++order]
    await findMissing(database, feeds)
    const known = feeds.map(id).filter((each) => each !== undefined)
    if (known.length > 0) {
      const rows = await database.rows<StateRow>(STATE, [arrayOf(known)])
      note(rows, atMs, begun)
      forgetMissing(known, new Set(rows.map((row) => row.id)))
    }
    return feeds.map(finalityOf)
  }

  /** Reads in progress; callers that ask for the same feeds at once share one. */
  const reading = new Map<string, { atMs: number; read: Promise<Finality[]> }>()
  const shareRead = (feeds: readonly Feed[], since: number): Promise<Finality[]> => {
    const name = feeds.map(feedName).join()
    const current = reading.get(name)
    if (current !== undefined && current.atMs > since) return current.read
    const read = readFinality(feeds)
    const entry = { atMs: elapsedMs(clock), read }
    reading.set(name, entry)
    const end = () => {
      if (reading.get(name) === entry) reading.delete(name)
    }
    read.then(end, end)
    return read
  }

  return {
    id,
    findMissing,
    forgetMissing,
    noteTimes(feed: number, known: KnownTimes) {
      times.set(feed, known)
    },
    /** The times of all these feeds together; undefined while those of one are unknown. */
    knownTimes(feeds: readonly Feed[]): KnownTimes | undefined {
      const all = feeds.map((feed) => times.get(id(feed) ?? -1))
      const known = all.filter((each) => each !== undefined)
      if (known.length === 0 || known.length < all.length) return undefined
      return {
        first: Math.min(...known.map(({ first }) => first)),
        last: Math.max(...known.map(({ last }) => last)),
      }
    },
    /** Notes states that this process committed, which no read that began before may replace. */
    noteWritten(named: readonly NamedFeedRow[], rows: readonly StateRow[]) {
      remember(named)
      note(rows, elapsedMs(clock), ++order)
    },
    /** Begins a read; the returned function notes what it found. */
    beginRead(): (rows: Iterable<StateRow>) => void {
      const [atMs, begun] = [elapsedMs(clock), ++order]
      return (rows) => note(rows, atMs, begun)
    },
    /** Answers at once if all of the feeds were read within that time. */
    finality(feeds: readonly Feed[], maxAgeMs = 0): Finality[] | Promise<Finality[]> {
      const since = elapsedMs(clock) - maxAgeMs
      const isFresh = feeds.every((feed) => {
        const known = id(feed)
        const entry = known === undefined ? undefined : states.get(known)
        return entry !== undefined && entry.atMs > since
      })
      return isFresh ? feeds.map(finalityOf) : shareRead(feeds, since)
    },
    async earliest(filter: FeedFilter): Promise<number | undefined> {
      const [row] = await database.rows<{ ts: number | null }>(EARLIEST, filterOf(filter))
      return row?.ts ?? undefined
    },
    async probe(): Promise<void> {
      await database.rows(ANY_FEED)
    },
    async feeds(filter: FeedFilter): Promise<FeedInfo[]> {
      const rows = await database.rows<ListedRow>(LIST, filterOf(filter))
      remember(rows)
      return rows.map((row) => ({
        feed: {
          dataset: row.dataset,
          source: row.source,
          symbol: row.symbol,
          interval: row.interval,
        } as Feed,
        before: row.final_before,
        epoch: row.epoch,
        version: row.version,
        corrections: row.corrections,
        firstTs: row.first_ts ?? undefined,
        lastTs: row.last_ts ?? undefined,
      }))
    },
    async revisions({ feeds, range, instrument, limit }: RevisionQuery): Promise<Revision[]> {
      const found = await database.snapshot(async (tx) => {
        await findMissing(tx, feeds)
        return Promise.all(
          feeds.map(async (feed) => {
            const known = id(feed)
            if (known === undefined) return []
            const values = [known, range.from, endOf(range), instrument ?? null, limit]
            return (await tx.rows<RevisionRow>(REVISIONS, values)).map((row) => toRevision(feed, row))
          }),
        )
      })
      return found
        .flat()
        .sort((a, b) => a.position.ts - b.position.ts || rank(a) - rank(b))
        .slice(0, limit)
    },
  }
}

export type FeedLookup = ReturnType<typeof feedLookup>

function toRevision(feed: Feed, row: RevisionRow): Revision {
  return {
    position: { ts: row.ts, source: feed.source, instrument: row.instrument, seq: row.seq },
    revision: row.revision,
    recordedAt: row.recorded_at,
    supersededAt: row.superseded_at,
    // An old version of a row with books is shown with the complete books.
    text:
      row.books === null || feed.dataset !== 'snapshots'
        ? row.text
        : textWithBooks(row.text, feed.source, { sides: unpackSides(row.books) }),
  }
}

function rank(revision: Revision): number {
  return SOURCES.indexOf(revision.position.source)
}
