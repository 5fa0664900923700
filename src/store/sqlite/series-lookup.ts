import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Feed, feedName } from '../../core/feed.ts'
import { SOURCES, type Source } from '../../core/source.ts'
import type { Clock } from '../../kit/clock.ts'
import { textWithBooks } from '../books/compose.ts'
import { unpackSides } from '../books/pack-sides.ts'
import { endOf } from '../order/arms.ts'
import type { RestingWork } from '../rows/work-in-turns.ts'
import type { FeedFilter, FeedInfo, Finality, Revision, RevisionQuery } from '../series.ts'

/**
 * Feeds and what is known about them as a whole. `ownWrites` changes with every write of this process, because a memory
 * database does not report the writes of its own connection.
 */
export function feedLookup(database: DatabaseSync, clock: Clock, ownWrites: () => number) {
  /** The id of a feed never changes, so only a missing one is looked up again. */
  const ids = new Map<string, number>()
  const find = database.prepare(
    'SELECT id FROM feeds WHERE dataset = ? AND source = ? AND symbol = ? AND interval = ?',
  )
  const state = database.prepare('SELECT final_before, epoch, version FROM feeds WHERE id = ?')
  const list = database.prepare(
    `SELECT * FROM feeds
      WHERE (?1 IS NULL OR dataset = ?1) AND (?2 IS NULL OR source = ?2) AND (?3 IS NULL OR symbol = ?3)
        AND (?4 IS NULL OR interval = ?4)
      ORDER BY dataset, source, symbol, interval`,
  )
  const anyFeed = database.prepare('SELECT 1 FROM feeds LIMIT 1')
  const edges = {
    first: [
      database.prepare('SELECT min(ts) AS ts FROM series_rows WHERE feed = ?'),
      database.prepare('SELECT min(first_ts) AS ts FROM packed_rows WHERE feed = ?'),
      ...bookEdges(database, 'min'),
    ],
    last: [
      database.prepare('SELECT max(ts) AS ts FROM series_rows WHERE feed = ?'),
      database.prepare('SELECT last_ts AS ts FROM packed_rows WHERE feed = ? ORDER BY first_ts DESC LIMIT 1'),
      ...bookEdges(database, 'max'),
    ],
  }
  const edgeOf = (which: 'first' | 'last', feed: number): number | undefined => {
    const times = edges[which].map((edge) => edge.get(feed)?.ts).filter((ts) => typeof ts === 'number')
    if (times.length === 0) return undefined
    return which === 'first' ? Math.min(...times) : Math.max(...times)
  }
  const revisions = database.prepare(
    `SELECT ts, instrument, seq, revision, recorded_at, superseded_at, text, books FROM series_revisions
      WHERE feed = ?1 AND ts >= ?2 AND ts < ?3 AND (?4 IS NULL OR instrument = ?4)
      ORDER BY ts, instrument, seq, revision LIMIT ?5`,
  )

  const id = (feed: Feed): number | undefined => {
    const name = feedName(feed)
    const known = ids.get(name)
    if (known !== undefined) return known
    const row = find.get(feed.dataset, feed.source, feed.symbol, feed.interval)
    if (row === undefined) return undefined
    ids.set(name, Number(row.id))
    return Number(row.id)
  }
  const finalities = new Map<string, Finality>()
  const committed = database.prepare('PRAGMA data_version')
  let checked = { atMs: Number.NEGATIVE_INFINITY, own: -1, version: -1 }
  /** Clears `finalities` if anything was written since they were read. */
  const dropOutdated = (maxAgeMs: number) => {
    const own = ownWrites()
    const atMs = clock.now()
    if (own === checked.own && Math.abs(atMs - checked.atMs) < maxAgeMs) return
    const version = Number(committed.get()?.data_version)
    if (own !== checked.own || version !== checked.version) finalities.clear()
    checked = { atMs, own, version }
  }
  const listed = (filter: FeedFilter) =>
    list.all(filter.dataset ?? null, filter.source ?? null, filter.symbol ?? null, filter.interval ?? null)

  const feedOf = ({ dataset, source, symbol, interval }: Record<string, unknown>) =>
    ({ dataset, source, symbol, interval }) as Feed

  return {
    id,
    /** Without their first and last times, which take several reads per feed. */
    named: (filter: FeedFilter): Feed[] => listed(filter).map(feedOf),
    /** Rests between two feeds, as `feeds` does, because a store has hundreds of them and each takes several reads. */
    *earliest(filter: FeedFilter): RestingWork<number | undefined> {
      let earliest: number | undefined
      for (const [place, row] of listed(filter).entries()) {
        if (place > 0) yield
        const first = edgeOf('first', Number(row.id))
        if (first !== undefined) earliest = Math.min(first, earliest ?? first)
      }
      return earliest
    },
    *feeds(filter: FeedFilter): RestingWork<FeedInfo[]> {
      const infos: FeedInfo[] = []
      for (const [place, row] of listed(filter).entries()) {
        if (place > 0) yield
        infos.push({
          feed: feedOf(row),
          before: Number(row.final_before),
          epoch: Number(row.epoch),
          version: Number(row.version),
          corrections: Number(row.corrections),
          firstTs: edgeOf('first', Number(row.id)),
          lastTs: edgeOf('last', Number(row.id)),
        })
      }
      return infos
    },
    probe: () => void anyFeed.get(),
    finality(feeds: readonly Feed[], maxAgeMs = 0): Finality[] {
      dropOutdated(maxAgeMs)
      return feeds.map((feed) => {
        const name = feedName(feed)
        const known = finalities.get(name)
        if (known !== undefined) return known
        const stored = id(feed)
        const row = stored === undefined ? undefined : state.get(stored)
        const read = {
          feed,
          before: Number(row?.final_before ?? 0),
          epoch: Number(row?.epoch ?? 0),
          version: Number(row?.version ?? 0),
        }
        finalities.set(name, read)
        return read
      })
    },
    revisions({ feeds, range, instrument, limit }: RevisionQuery): Revision[] {
      const found: Revision[] = []
      for (const feed of feeds) {
        const known = id(feed)
        if (known === undefined) continue
        for (const row of revisions.all(known, range.from, endOf(range), instrument ?? null, limit)) {
          found.push({
            position: {
              ts: Number(row.ts),
              source: feed.source,
              instrument: String(row.instrument),
              seq: Number(row.seq),
            },
            revision: Number(row.revision),
            recordedAt: Number(row.recorded_at),
            supersededAt: Number(row.superseded_at),
            text: withBooks(String(row.text), feed, row.books),
          })
        }
      }
      return found.sort((a, b) => a.position.ts - b.position.ts || rank(a) - rank(b)).slice(0, limit)
    },
  }
}

export type FeedLookup = ReturnType<typeof feedLookup>

/** Adds the complete books to an old version of a row that had them. */
function withBooks(text: string, { dataset, source }: Feed, packed: unknown): string {
  if (!(packed instanceof Uint8Array) || dataset !== 'snapshots') return text
  return textWithBooks(text, source, { sides: unpackSides(packed) })
}

function rank(revision: Revision): number {
  return SOURCES.indexOf(revision.position.source as Source)
}

/** The first or last time of grouped rows: in the blocks and in the tails of the feed's outermost span. */
function bookEdges(database: DatabaseSync, edge: 'min' | 'max'): StatementSync[] {
  const column = edge === 'min' ? 'first_ts' : 'last_ts'
  const outermost = `feed = ?1 AND span = (SELECT ${edge}(span) FROM book_groups WHERE feed = ?1)`
  return [
    database.prepare(`SELECT ${edge}(${column}) AS ts FROM book_groups WHERE ${outermost} AND rows > 0`),
    database.prepare(
      `SELECT ${edge}(ts) AS ts FROM book_tail
        WHERE book_group IN (SELECT id FROM book_groups WHERE ${outermost} AND waiting = 1)`,
    ),
  ]
}
