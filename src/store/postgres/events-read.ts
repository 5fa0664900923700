/**
 * Reads the event log. Readers find only completely written events, because numbers are assigned under the lock of the
 * log, and a read takes the newest number and the events from one statement.
 */
import { eventIds } from '../events/event-id.ts'
import { wantedBy } from '../events/wanted.ts'
import type { EventFilter, EventPage, EventQuery, LogBounds, StoredEvent } from '../events.ts'
import { type Database, statement } from './database.ts'

const COLUMNS = 'seq, kind, created_at AS "createdAtMs", addresses, tail'
/**
 * $1 after, $2 until, $3 events, $4 bytes. The first event is returned whatever its size. `read` counts the events
 * before the cut by size.
 */
const PAGE = statement(
  'events_page',
  `SELECT s.log_name AS "logName", least($2::bigint, s.newest_seq) AS "untilSeq", e.*
    FROM chain_state s LEFT JOIN LATERAL (
      SELECT ${COLUMNS}, sum(size) OVER (ORDER BY seq) AS total, count(*) OVER () AS read,
          row_number() OVER (ORDER BY seq) AS n
        FROM (SELECT * FROM events
          WHERE seq > $1::bigint AND seq >= s.oldest_seq AND seq <= least($2::bigint, s.newest_seq)
          ORDER BY seq LIMIT $3::int) page
    ) e ON e.total <= $4::bigint OR e.n = 1
    ORDER BY e.seq`,
)
/**
 * Candidates without their texts: the next $5 numbers of each kind ($3) and of each address ($4). A full list may go
 * on, so nothing is known after its end (`complete`). Comparing and ordering by kind and number reads one index range;
 * ordered by number alone, a plan could read the whole log for a rare kind.
 */
export const CANDIDATES = statement(
  'events_candidates',
  `WITH bounds AS MATERIALIZED (SELECT least($2::bigint, newest_seq) AS until FROM chain_state),
    lists AS MATERIALIZED (
      SELECT ARRAY(SELECT seq FROM events
          WHERE (kind, seq) > (k, $1::bigint) AND (kind, seq) <= (k, until)
          ORDER BY kind, seq LIMIT $5::int) AS seqs
        FROM bounds, unnest($3::text[]) AS k
      UNION ALL
      SELECT ARRAY(SELECT seq FROM event_addresses
          WHERE address = a AND seq > $1::bigint AND seq <= until ORDER BY seq LIMIT $5::int)
        FROM bounds, unnest($4::text[]) AS a),
    ends AS MATERIALIZED (SELECT min(seqs[$5::int]) AS complete FROM lists),
    found AS MATERIALIZED (
      SELECT DISTINCT seq FROM lists, ends, unnest(seqs) AS seq WHERE complete IS NULL OR seq <= complete
        ORDER BY seq LIMIT $5::int)
    SELECT b.until AS "untilSeq", n.complete, e.seq, e.kind, e.addresses, e.size
      FROM bounds b CROSS JOIN ends n LEFT JOIN (found f JOIN events e ON e.seq = f.seq) ON true
      ORDER BY e.seq`,
)
const BY_SEQS = statement(
  'events_by_seqs',
  `SELECT s.log_name AS "logName", e.seq, e.kind, e.created_at AS "createdAtMs", e.addresses, e.tail
    FROM chain_state s, events e WHERE e.seq = ANY($1::bigint[]) ORDER BY e.seq`,
)
const LOG = statement(
  'events_log',
  `SELECT log_name AS "logName", newest_seq AS "newestSeq", coalesce(oldest_seq, newest_seq + 1) AS "oldestSeq", bytes
    FROM chain_state`,
)
const BEFORE = statement(
  'events_before',
  'SELECT seq FROM events WHERE created_at < $1::bigint ORDER BY created_at DESC, seq DESC LIMIT 1',
)

/** How many candidates one call examines; not all of them match. */
const MIN_CANDIDATES = 100
const MAX_CANDIDATES = 1_000
/** With more addresses than this, all events of the kinds are candidates, instead of a lookup for each address. */
const MAX_LOOKUPS = 64
const DEFAULT_MAX_BYTES = 4 * 1024 * 1024

export function eventReader(database: Database) {
  async function page({ afterSeq, untilSeq, limit, maxBytes }: EventQuery): Promise<EventPage> {
    const rows = await database.rows<PageRow>(PAGE, [
      afterSeq,
      untilSeq ?? Number.MAX_SAFE_INTEGER,
      limit,
      maxBytes ?? DEFAULT_MAX_BYTES,
    ])
    const [first] = rows
    if (first === undefined) throw new Error('the chain store has no state')
    const until = Math.max(first.untilSeq, afterSeq)
    if (first.seq === null) return { events: [], upToSeq: until, more: false }
    const events = toEvents(rows.filter((row) => row.seq !== null))
    const isCut = events.length === limit || events.length < first.read
    const upToSeq = isCut ? (events.at(-1)?.seq ?? until) : until
    return { events, upToSeq, more: upToSeq < until }
  }

  async function filtered(query: EventQuery, filters: readonly EventFilter[]): Promise<EventPage> {
    const { afterSeq, limit, maxBytes = DEFAULT_MAX_BYTES } = query
    const { kinds, addresses } = lookupsFor(filters)
    const count = Math.min(Math.max(2 * limit, MIN_CANDIDATES), MAX_CANDIDATES)
    const rows = await database.rows<CandidateRow>(CANDIDATES, [
      afterSeq,
      query.untilSeq ?? Number.MAX_SAFE_INTEGER,
      kinds,
      addresses,
      count,
    ])
    const [first] = rows
    if (first === undefined) throw new Error('the chain store has no state')
    const until = Math.max(first.untilSeq, afterSeq)
    const candidates = rows.filter((row) => row.seq !== null)
    const isFull = candidates.length === count
    const complete = isFull ? (candidates.at(-1)?.seq ?? until) : (first.complete ?? until)
    const wanted = candidates.filter(wantedBy(filters))
    const taken = takeUpTo(wanted, limit, maxBytes)
    const upToSeq = taken.length < wanted.length ? (taken.at(-1) ?? afterSeq) : complete
    // Events deleted between the two statements are missing, as if they had been deleted before.
    const events = taken.length === 0 ? [] : toEvents(await database.rows<EventRow>(BY_SEQS, [taken]))
    return { events, upToSeq, more: upToSeq < until }
  }

  const log = async (): Promise<LogBounds & { logName: string }> => {
    const [row] = await database.rows<LogBounds & { logName: string }>(LOG)
    if (row === undefined) throw new Error('the chain store has no state')
    return row
  }

  return {
    after: (query: EventQuery): Promise<EventPage> =>
      query.filters === undefined ? page(query) : filtered(query, query.filters),
    async byId(id: string): Promise<StoredEvent | undefined> {
      const seq = eventIds((await log()).logName).seqOf(id)
      return seq === undefined ? undefined : toEvents(await database.rows<EventRow>(BY_SEQS, [[seq]]))[0]
    },
    async bounds(): Promise<LogBounds> {
      const { logName: _, ...bounds } = await log()
      return bounds
    },
    logId: async (): Promise<string> => (await log()).logName,
    async seqBefore(timeMs: number): Promise<number> {
      return (await database.rows<{ seq: number }>(BEFORE, [Math.ceil(timeMs)]))[0]?.seq ?? 0
    },
  }
}

/** The kinds and addresses whose events have to be examined. */
function lookupsFor(filters: readonly EventFilter[]): { kinds: string[]; addresses: string[] } {
  const kinds = new Set<string>()
  const addresses = new Set<string>()
  for (const filter of filters) {
    const only = new Set(filter.addresses)
    if (filter.addresses === undefined || only.size > MAX_LOOKUPS)
      for (const kind of filter.kinds) kinds.add(kind)
    else for (const address of only) addresses.add(address)
  }
  return { kinds: [...kinds], addresses: [...addresses] }
}

/** Takes the first event whatever its size. */
function takeUpTo(wanted: readonly Candidate[], limit: number, maxBytes: number): number[] {
  let size = 0
  const end = wanted.findIndex((event, at) => {
    size += event.size
    return at >= limit || (size > maxBytes && at > 0)
  })
  return (end < 0 ? wanted : wanted.slice(0, end)).map(({ seq }) => seq)
}

interface EventRow {
  readonly logName: string
  readonly seq: number
  readonly kind: string
  readonly createdAtMs: number
  readonly addresses: string
  readonly tail: string
}

/** A single row without an event if nothing was found. */
type PageRow = { readonly untilSeq: number } & (
  | (EventRow & { readonly read: number })
  | { readonly seq: null }
)

interface Candidate {
  readonly seq: number
  readonly kind: string
  readonly addresses: string
  readonly size: number
}

type CandidateRow = { readonly untilSeq: number; readonly complete: number | null } & (
  | Candidate
  | { readonly seq: null }
)

function toEvents(rows: readonly EventRow[]): StoredEvent[] {
  const ids = eventIds(rows[0]?.logName ?? '')
  return rows.map(({ seq, kind, createdAtMs, addresses, tail }) => ({
    seq,
    id: ids.of(seq),
    kind,
    addresses: addresses === '' ? [] : addresses.split(' '),
    createdAtMs,
    text: ids.headOf(seq) + tail,
  }))
}
