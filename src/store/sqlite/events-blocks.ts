/**
 * Where events are stored: the newest in a table with one row each, older ones packed into blocks.
 *
 *   append ──▶ event_tail ──TAIL_EVENTS newer ones──▶ event_blocks (up to BLOCK_EVENTS each, compressed)
 *
 * A block lists its kinds as bits, and `event_addresses` lists the blocks of an address, so that a read unpacks only
 * blocks that may hold what it wants. Tail and blocks are read in one transaction, because packing moves events.
 */
import type { DatabaseSync } from 'node:sqlite'
import { Lru } from '../../kit/lru.ts'
import type { EventIds } from '../events/event-id.ts'
import type { AddressTable } from './chain-addresses.ts'
import { packTexts, unpackTexts } from './packed-texts.ts'
import type { Row } from './rows.ts'

/** Large enough that live readers find what they want without unpacking. */
const TAIL_EVENTS = 256
const BLOCK_EVENTS = 128
/** A block of long events ends with the event that reaches this length. */
const BLOCK_BYTES = 256 * 1024
/** Where the clock was set back further than this, a new block begins, so that a block has events of about one time. */
const CLOCK_SET_BACK_MS = 60_000
/** About 3 MB of text, unless events are long. */
const CACHED_BLOCKS = 32
const CACHED_BYTES = 8 * 1024 * 1024
/** With more kinds than this, several share a bit. */
const KIND_BITS = 62

/** An event without the beginning of its text, which follows from its number. */
export interface PackedEvent {
  readonly seq: number
  readonly kind: string
  readonly createdAtMs: number
  /** Joined by spaces. */
  readonly addresses: string
  readonly tail: string
}

export interface EventBlock {
  readonly lastSeq: number
  readonly firstSeq: number
  readonly lastAtMs: number
  readonly bytes: number
  readonly count: number
}

export function kindTable(database: DatabaseSync) {
  const all = database.prepare('SELECT id, kind FROM event_kinds')
  const insert = database.prepare('INSERT INTO event_kinds (kind) VALUES (?)')
  let ids = new Map<string, number>()
  let kinds = new Map<number, string>()
  const load = () => {
    ids = new Map(all.all().map((row) => [String(row.kind), Number(row.id)]))
    kinds = new Map([...ids].map(([kind, id]) => [id, kind]))
  }
  return {
    /** Undefined if no event of this kind was ever written. */
    find(kind: string): number | undefined {
      if (!ids.has(kind)) load()
      return ids.get(kind)
    },
    /** Only inside a write transaction. */
    open(kind: string): number {
      const known = ids.get(kind)
      if (known !== undefined) return known
      load()
      const id = ids.get(kind) ?? Number(insert.run(kind).lastInsertRowid)
      ids.set(kind, id)
      kinds.set(id, kind)
      return id
    },
    nameOf(id: number): string {
      if (!kinds.has(id)) load()
      return kinds.get(id) ?? ''
    },
    /** Called after a rollback, which also undoes assigned ids. */
    forget() {
      ids.clear()
      kinds.clear()
    },
  }
}
export type KindTable = ReturnType<typeof kindTable>

export function kindBit(id: number): bigint {
  return 1n << BigInt(id % KIND_BITS)
}

export function eventBlocks(database: DatabaseSync, kinds: KindTable) {
  const after = database.prepare(
    'SELECT last_seq, first_seq, last_at, bytes, count FROM event_blocks WHERE last_seq >= ? ORDER BY last_seq LIMIT ?',
  )
  const body = database.prepare('SELECT body FROM event_blocks WHERE last_seq = ?')
  const newest = database.prepare('SELECT max(last_seq) AS seq FROM event_blocks')
  const cache = new Lru<number, PackedEvent[]>({
    maxEntries: CACHED_BLOCKS,
    maxWeight: CACHED_BYTES,
    weigh: textLength,
  })

  function unpack(lastSeq: number): PackedEvent[] {
    const known = cache.get(lastSeq)
    if (known !== undefined) return known
    const texts = unpackTexts(body.get(lastSeq)?.body)
    const events: PackedEvent[] = []
    for (let at = 0; at + 1 < texts.length; at += 2) {
      const [seq, kind, createdAtMs, ...addresses] = (texts[at] as string).split(' ')
      events.push({
        seq: Number(seq),
        kind: kinds.nameOf(Number(kind)),
        createdAtMs: Number(createdAtMs),
        addresses: addresses.join(' '),
        tail: texts[at + 1] as string,
      })
    }
    cache.set(lastSeq, events)
    return events
  }
  return {
    unpack,
    /** The newest packed number; 0 if none is packed. */
    newestSeq: (): number => Number(newest.get()?.seq ?? 0),
    /** Blocks that end at this number or later, oldest first. */
    from: (seq: number, limit: number): EventBlock[] => after.all(seq, limit).map(toBlock),
    /** Called after a rollback, which also undoes newly packed blocks. */
    forget: () => cache.clear(),
  }
}

/** Moves older events from the tail into blocks. Only inside a write transaction. */
export function eventPacker(
  database: DatabaseSync,
  { ids, kinds, addresses }: { ids: EventIds; kinds: KindTable; addresses: AddressTable },
) {
  const oldest = database.prepare('SELECT min(seq) AS seq FROM event_tail')
  const tail = database.prepare('SELECT * FROM event_tail WHERE seq <= ? ORDER BY seq LIMIT ?')
  const remove = database.prepare('DELETE FROM event_tail WHERE seq <= ?')
  const insert = database.prepare('INSERT INTO event_blocks VALUES (?, ?, ?, ?, ?, ?, ?)')
  const insertAddress = database.prepare('INSERT OR IGNORE INTO event_addresses VALUES (?, ?)')

  function packOldest(upToSeq: number): void {
    const oldestFirst: PackedEvent[] = []
    let read = 0
    for (const row of tail.iterate(upToSeq, BLOCK_EVENTS)) {
      const event = toParts(row, kinds)
      oldestFirst.push(event)
      read += sizeOf(event, ids)
      if (read >= BLOCK_BYTES) break
    }
    const events = oldestFirst.slice(0, countOfOneClock(oldestFirst))
    const [first, last] = [events[0], events.at(-1)]
    if (first === undefined || last === undefined) return
    let bits = 0n
    const texts = events.flatMap(({ seq, kind, createdAtMs, addresses: list, tail: text }) => {
      const id = kinds.open(kind)
      bits |= kindBit(id)
      return [[seq, id, createdAtMs, ...(list === '' ? [] : [list])].join(' '), text]
    })
    const bytes = events.reduce((sum, event) => sum + sizeOf(event, ids), 0)
    const lastAtMs = Math.max(...events.map((event) => event.createdAtMs))
    insert.run(last.seq, first.seq, lastAtMs, bits, bytes, events.length, packTexts(texts))
    for (const address of addressesOf(events)) insertAddress.run(addresses.open(address), last.seq)
    remove.run(last.seq)
  }

  return (newestSeq: number): void => {
    for (;;) {
      const from = oldest.get()?.seq
      if (from === null || from === undefined) return
      if (newestSeq - Number(from) + 1 < TAIL_EVENTS + BLOCK_EVENTS) return
      packOldest(newestSeq - TAIL_EVENTS)
    }
  }
}

/** How many of the events were dated before the clock was set back. */
function countOfOneClock(events: readonly PackedEvent[]): number {
  const setBack = events.findIndex(
    ({ createdAtMs }, i) => createdAtMs < (events[i - 1]?.createdAtMs ?? 0) - CLOCK_SET_BACK_MS,
  )
  return setBack < 0 ? events.length : setBack
}

export function sizeOf({ seq, tail }: PackedEvent, ids: EventIds): number {
  return ids.headOf(seq).length + tail.length
}

export function textLength(events: readonly PackedEvent[]): number {
  return events.reduce((sum, { tail }) => sum + tail.length, 0)
}

export function addressesOf(events: readonly PackedEvent[]): Set<string> {
  return new Set(events.flatMap(({ addresses }) => (addresses === '' ? [] : addresses.split(' '))))
}

export function toParts(row: Row, kinds: KindTable): PackedEvent {
  return {
    seq: Number(row.seq),
    kind: kinds.nameOf(Number(row.kind)),
    createdAtMs: Number(row.created_at),
    addresses: String(row.addresses),
    tail: String(row.tail),
  }
}

function toBlock(row: Row): EventBlock {
  return {
    lastSeq: Number(row.last_seq),
    firstSeq: Number(row.first_seq),
    lastAtMs: Number(row.last_at),
    bytes: Number(row.bytes),
    count: Number(row.count),
  }
}
