/** Reads of the event log. Work per call is bounded by rows looked at, not only by rows given. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { EventFilter, EventPage, EventQuery, EventStore, LogBounds, StoredEvent } from '../events.ts'
import type { AddressTable } from './chain-addresses.ts'
import { eventIds } from './event-ids.ts'

/** Rows that one call looks at: about three milliseconds. */
const MAX_LOOKED_AT = 2_000
/** With more addresses than this the kinds are read through and compared, instead of looking up each address. */
const MAX_LOOKUPS = 64
/** Events that are looked at for each wanted one, and of each list at least. */
const LOOKED_AT_PER_WANTED = 4
const MIN_SHARE = 20
const DEFAULT_MAX_BYTES = 4 * 1024 * 1024

type Row = Record<string, unknown>

export function eventReader(database: DatabaseSync, addresses: AddressTable) {
  const ids = eventIds(database)
  const newest = database.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'events'`)
  const oldest = database.prepare('SELECT min(seq) AS seq FROM events')
  const bytes = database.prepare(
    `SELECT CAST(value AS INTEGER) AS bytes FROM facts WHERE name = 'event_bytes'`,
  )
  const bySeq = database.prepare('SELECT * FROM events WHERE seq = ?')
  const range = database.prepare('SELECT * FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?')
  const ofKind = database.prepare(
    'SELECT seq FROM events WHERE kind = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?',
  )
  const ofAddress = database.prepare(
    'SELECT seq FROM event_addresses WHERE address = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?',
  )
  const logId = database.prepare(`SELECT value FROM facts WHERE name = 'log_id'`)
  const lastUpTo = database.prepare('SELECT created_at FROM events WHERE seq <= ? ORDER BY seq DESC LIMIT 1')

  const toEvent = (row: Row): StoredEvent => ({
    seq: Number(row.seq),
    id: ids.of(Number(row.seq)),
    kind: String(row.kind),
    addresses: row.addresses === '' ? [] : String(row.addresses).split(' '),
    createdAtMs: Number(row.created_at),
    text: String(row.text),
  })

  const bounds = (): LogBounds => {
    const newestSeq = Number(newest.get()?.seq ?? 0)
    return {
      newestSeq,
      oldestSeq: Number(oldest.get()?.seq ?? newestSeq + 1),
      bytes: Number(bytes.get()?.bytes ?? 0),
    }
  }

  /** Numbers of one list, cut at a bound; and up to where the list is complete. */
  function listed(
    statement: StatementSync,
    key: string | number,
    after: number,
    until: number,
    limit: number,
  ) {
    const seqs = statement.all(key, after, until, limit).map((row) => Number(row.seq))
    return { seqs, complete: seqs.length < limit ? until : (seqs.at(-1) ?? until) }
  }

  function after(query: EventQuery): EventPage {
    const until = Math.min(query.untilSeq ?? Number.MAX_SAFE_INTEGER, Number(newest.get()?.seq ?? 0))
    if (query.afterSeq >= until) return { events: [], upToSeq: query.afterSeq, more: false }
    const candidates =
      query.filters === undefined
        ? undefined
        : candidatesOf(query.filters, query.afterSeq, until, query.limit)
    const rows: Iterable<Row> =
      candidates === undefined
        ? range.iterate(query.afterSeq, until, query.limit)
        : present(candidates.seqs, (seq) => bySeq.get(seq))
    const maxBytes = query.maxBytes ?? DEFAULT_MAX_BYTES
    const events: StoredEvent[] = []
    let size = 0
    for (const row of rows) {
      const event = toEvent(row)
      if (candidates !== undefined && !wanted(event, candidates.filters)) continue
      size += event.text.length
      if (events.length >= query.limit || (size > maxBytes && events.length > 0)) {
        return cut(events, until)
      }
      events.push(event)
    }
    const upToSeq =
      candidates?.complete ?? (events.length === query.limit ? (events.at(-1)?.seq ?? until) : until)
    return { events, upToSeq, more: upToSeq < until }
  }

  function candidatesOf(filters: readonly EventFilter[], afterSeq: number, until: number, limit: number) {
    const keys = filters.flatMap(
      ({ kinds, addresses: only }): { from: StatementSync; key: string | number }[] => {
        if (only === undefined || only.length > MAX_LOOKUPS)
          return kinds.map((kind) => ({ from: ofKind, key: kind }))
        return only.flatMap((address) => {
          const id = addresses.find(address)
          return id === undefined ? [] : { from: ofAddress, key: id }
        })
      },
    )
    const wish = Math.min(MAX_LOOKED_AT, limit * LOOKED_AT_PER_WANTED)
    const share = Math.max(MIN_SHARE, Math.floor(wish / Math.max(1, keys.length)))
    const lists = keys.map(({ from, key }) => listed(from, key, afterSeq, until, share))
    const complete = lists.reduce((least, list) => Math.min(least, list.complete), until)
    const seqs = [...new Set(lists.flatMap((list) => list.seqs))]
      .filter((seq) => seq <= complete)
      .sort((a, b) => a - b)
    const prepared = filters.map(({ kinds, addresses: only }) => ({
      kinds: new Set(kinds),
      addresses: only === undefined ? undefined : new Set(only),
    }))
    return { seqs, complete, filters: prepared }
  }

  return {
    after,
    bounds,
    logId: (): string => String(logId.get()?.value),
    byId(id: string): StoredEvent | undefined {
      const seq = ids.seqOf(id)
      const row = seq === undefined ? undefined : bySeq.get(seq)
      return row && toEvent(row)
    },
    /** Times rise with numbers, so the place is found by halving; some numbers may never have been given. */
    seqBefore(timeMs: number): number {
      const { oldestSeq, newestSeq } = bounds()
      let low = oldestSeq - 1
      let high = newestSeq
      while (low < high) {
        const middle = Math.ceil((low + high) / 2)
        const row = lastUpTo.get(middle)
        if (row !== undefined && Number(row.created_at) < timeMs) low = middle
        else high = middle - 1
      }
      return low < oldestSeq ? 0 : low
    },
  } satisfies { [K in keyof EventStore]?: (...args: never[]) => unknown }
}

interface PreparedFilter {
  kinds: Set<string>
  addresses: Set<string> | undefined
}

function wanted(event: StoredEvent, filters: readonly PreparedFilter[]): boolean {
  return filters.some(
    ({ kinds, addresses }) =>
      kinds.has(event.kind) &&
      (addresses === undefined || event.addresses.some((address) => addresses.has(address))),
  )
}

function cut(events: readonly StoredEvent[], until: number): EventPage {
  const upToSeq = events.at(-1)?.seq ?? until
  return { events, upToSeq, more: upToSeq < until }
}

function* present(seqs: readonly number[], get: (seq: number) => Row | undefined): Generator<Row> {
  for (const seq of seqs) {
    const row = get(seq)
    if (row !== undefined) yield row
  }
}
