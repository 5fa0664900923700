/** Reads of the event log. The work per call is bounded by the events checked, not only by the events returned. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type EventIds, eventIds } from '../events/event-id.ts'
import { wantedBy } from '../events/wanted.ts'
import type { EventFilter, EventPage, EventQuery, LogBounds, StoredEvent } from '../events.ts'
import type { AddressTable } from './chain-addresses.ts'
import { eventBlocks, kindBit, kindTable, type PackedEvent, textLength, toParts } from './events-blocks.ts'
import { oneStateOf } from './open.ts'

/** Maximum number of blocks that one call unpacks, which takes about three milliseconds. */
const MAX_UNPACKED = 12
/** A call ends with the block, or the event outside of blocks, with which it has read texts of this length. */
const MAX_READ_BYTES = 1024 * 1024
/** Maximum number of blocks whose kinds one call checks. */
const MAX_LISTED = 500
/**
 * How many blocks that end at a time or later may have events before it. More than one has only where the clock was set
 * back.
 */
const MAX_AROUND = 4
/** With more addresses than this, all blocks of the wanted kinds are read instead of looking up each address. */
const MAX_LOOKUPS = 64
const DEFAULT_MAX_BYTES = 4 * 1024 * 1024

export function logIdOf(database: DatabaseSync): EventIds {
  return eventIds(String(database.prepare('SELECT name FROM event_log').get()?.name))
}

export function eventReader(database: DatabaseSync, addresses: AddressTable) {
  const ids = logIdOf(database)
  /** Packing moves events between tables, so a read must see both in one state. */
  const inOneState = oneStateOf(database)
  const kinds = kindTable(database)
  const blocks = eventBlocks(database, kinds)
  const log = database.prepare('SELECT name FROM event_log')
  const newest = database.prepare('SELECT newest_seq FROM event_log')
  /** One statement, because every process asks many times a second. */
  const ends = database.prepare(
    `SELECT newest_seq, bytes, coalesce(
        (SELECT first_seq FROM event_blocks ORDER BY last_seq LIMIT 1),
        (SELECT min(seq) FROM event_tail),
        newest_seq + 1
      ) AS oldest_seq FROM event_log`,
  )
  const tail = database.prepare('SELECT * FROM event_tail WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?')
  const tailBefore = database.prepare(
    'SELECT seq, created_at AS at FROM event_tail WHERE created_at < ? ORDER BY created_at DESC, seq DESC LIMIT 1',
  )
  const blockBefore = database.prepare(
    'SELECT last_seq AS block, last_at AS at FROM event_blocks WHERE last_at < ? ORDER BY last_at DESC, last_seq DESC LIMIT 1',
  )
  const blocksFrom = database.prepare(
    `SELECT last_seq AS block FROM event_blocks WHERE last_at >= ? ORDER BY last_at, last_seq LIMIT ${MAX_AROUND}`,
  )
  const listed = database.prepare(
    'SELECT last_seq AS block, (kinds & ?) <> 0 AS fits FROM event_blocks WHERE last_seq > ? ORDER BY last_seq LIMIT ?',
  )
  const ofAddress = database.prepare(
    'SELECT block FROM event_addresses WHERE address = ? AND block > ? ORDER BY block LIMIT ?',
  )

  const toEvent = ({ seq, kind, createdAtMs, addresses: list, tail: rest }: PackedEvent): StoredEvent => ({
    seq,
    id: ids.of(seq),
    kind,
    addresses: list === '' ? [] : list.split(' '),
    createdAtMs,
    text: ids.headOf(seq) + rest,
  })

  const bounds = (): LogBounds => {
    const row = ends.get()
    return {
      newestSeq: Number(row?.newest_seq),
      oldestSeq: Number(row?.oldest_seq),
      bytes: Number(row?.bytes),
    }
  }

  /** Blocks that may hold a wanted event, and the number up to which the list is complete. */
  function blocksFor(filters: readonly PreparedFilter[] | undefined, afterSeq: number) {
    let complete = Number.POSITIVE_INFINITY
    const list = (statement: StatementSync, limit: number, ...keys: (number | bigint)[]) => {
      const rows = statement.all(...keys, afterSeq, limit)
      if (rows.length === limit) complete = Math.min(complete, Number(rows.at(-1)?.block))
      return rows
    }
    const found = new Set<number>()
    const byKind = (bits: bigint) => {
      for (const row of list(listed, MAX_LISTED, bits)) if (row.fits === 1) found.add(Number(row.block))
    }
    if (filters === undefined) {
      for (const block of blocks.from(afterSeq + 1, MAX_UNPACKED)) found.add(block.lastSeq)
      return { seqs: [...found], complete }
    }
    let bits = 0n
    for (const { kindBits, addresses: only } of filters) {
      if (only === undefined || only.size > MAX_LOOKUPS) bits |= kindBits
      else {
        const known = [...only].flatMap((address) => addresses.find(address) ?? [])
        for (const id of known)
          for (const row of list(ofAddress, MAX_UNPACKED, id)) found.add(Number(row.block))
      }
    }
    if (bits !== 0n) byKind(bits)
    return { seqs: [...found].filter((seq) => seq <= complete).sort((a, b) => a - b), complete }
  }

  const newestSeq = () => Number(newest.get()?.newest_seq)

  function after(query: EventQuery): EventPage {
    const until = Math.min(query.untilSeq ?? Number.MAX_SAFE_INTEGER, newestSeq())
    const { afterSeq } = query
    if (afterSeq >= until) return { events: [], upToSeq: afterSeq, more: false }
    const filters = query.filters?.map(prepared)
    const page = pageOf(query, toEvent)
    const packedUpTo = blocks.newestSeq()
    let bytes = 0
    if (afterSeq < packedUpTo) {
      const candidates = blocksFor(filters, afterSeq)
      const unpacked = candidates.seqs.slice(0, MAX_UNPACKED)
      for (const lastSeq of unpacked) {
        const events = blocks.unpack(lastSeq)
        if (!page.addAll(events, afterSeq, until)) return page.cut(until)
        if (lastSeq >= until) return page.upTo(until, until)
        bytes += textLength(events)
        if (bytes >= MAX_READ_BYTES) return page.upTo(lastSeq, until)
      }
      const isCut = candidates.seqs.length >= MAX_UNPACKED && (unpacked.at(-1) ?? 0) < packedUpTo
      const lookedAt = isCut ? (unpacked.at(-1) ?? packedUpTo) : Math.min(candidates.complete, packedUpTo)
      if (lookedAt < packedUpTo) return page.upTo(Math.min(lookedAt, until), until)
    }
    const from = Math.max(afterSeq, packedUpTo)
    const limit = filters === undefined ? query.limit + 1 : -1
    for (const row of tail.iterate(from, until, limit)) {
      const event = toParts(row, kinds)
      if (!page.add(event)) return page.cut(until)
      bytes += event.tail.length
      if (bytes >= MAX_READ_BYTES) return page.upTo(event.seq, until)
    }
    return page.upTo(until, until)
  }

  function prepared({ kinds: wanted, addresses: only }: EventFilter): PreparedFilter {
    const known = wanted.flatMap((kind) => kinds.find(kind) ?? [])
    return {
      kindBits: known.reduce((bits, id) => bits | kindBit(id), 0n),
      addresses: only === undefined ? undefined : new Set(only),
    }
  }

  function bySeq(seq: number): StoredEvent | undefined {
    const [row] = tail.all(seq - 1, seq, 1)
    if (row !== undefined) return toEvent(toParts(row, kinds))
    const [block] = blocks.from(seq, 1)
    const found = block && blocks.unpack(block.lastSeq).find((event) => event.seq === seq)
    return found && toEvent(found)
  }

  /**
   * The event with the latest time before this one. Times do not always increase with numbers, because the clock may
   * have been ahead for a while.
   */
  function seqBefore(timeMs: number): number {
    const inTail = tailBefore.get(timeMs)
    let found = { seq: Number(inTail?.seq ?? 0), atMs: Number(inTail?.at ?? Number.NEGATIVE_INFINITY) }
    const before = blockBefore.get(timeMs)
    // The events after it may have been dated by a clock that was ahead.
    const next = before === undefined ? [] : blocks.from(Number(before.block) + 1, 1)
    const lastSeqs = new Set([
      ...(before !== undefined && Number(before.at) > found.atMs ? [Number(before.block)] : []),
      ...next.filter(({ lastAtMs }) => lastAtMs >= timeMs).map(({ lastSeq }) => lastSeq),
      ...blocksFrom.all(timeMs).map(({ block }) => Number(block)),
    ])
    for (const lastSeq of lastSeqs)
      for (const { seq, createdAtMs: atMs } of blocks.unpack(lastSeq)) {
        const isLater = atMs > found.atMs || (atMs === found.atMs && seq > found.seq)
        if (atMs < timeMs && isLater) found = { seq, atMs }
      }
    return found.seq
  }

  return {
    // Readers that have everything ask many times a second: that takes one read, without a transaction.
    after: (query: EventQuery): EventPage =>
      query.afterSeq >= Math.min(query.untilSeq ?? Number.MAX_SAFE_INTEGER, newestSeq())
        ? { events: [], upToSeq: query.afterSeq, more: false }
        : inOneState(() => after(query)),
    bounds,
    logId: (): string => String(log.get()?.name),
    byId(id: string): StoredEvent | undefined {
      const seq = ids.seqOf(id)
      return seq === undefined ? undefined : inOneState(() => bySeq(seq))
    },
    seqBefore: (timeMs: number) => inOneState(() => seqBefore(timeMs)),
  }
}

interface PreparedFilter {
  kindBits: bigint
  addresses: Set<string> | undefined
}

/** A page that is being filled; the first event always fits, whatever its size. */
function pageOf(
  { limit, maxBytes = DEFAULT_MAX_BYTES, filters }: EventQuery,
  toEvent: (parts: PackedEvent) => StoredEvent,
) {
  const isWanted = wantedBy(filters)
  const events: StoredEvent[] = []
  let size = 0
  /** False when the event is wanted but there is no room for it. */
  const add = (parts: PackedEvent): boolean => {
    if (!isWanted(parts)) return true
    const event = toEvent(parts)
    size += event.text.length
    if (events.length >= limit || (size > maxBytes && events.length > 0)) return false
    events.push(event)
    return true
  }
  return {
    add,
    addAll: (list: readonly PackedEvent[], afterSeq: number, until: number): boolean =>
      list.every((parts) => parts.seq <= afterSeq || parts.seq > until || add(parts)),
    /** The page is full; reading continues after its last event. */
    cut(until: number): EventPage {
      const upToSeq = events.at(-1)?.seq ?? until
      return { events, upToSeq, more: upToSeq < until }
    },
    upTo: (upToSeq: number, until: number): EventPage => ({ events, upToSeq, more: upToSeq < until }),
  }
}
