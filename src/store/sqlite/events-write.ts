/** Writes of the event log. Each runs inside a transaction that the caller has begun. */
import type { DatabaseSync } from 'node:sqlite'
import type { NewEvent } from '../events.ts'
import type { AddressTable } from './chain-addresses.ts'
import { addressesOf, eventBlocks, eventPacker, kindTable, sizeOf, toParts } from './events-blocks.ts'
import { logIdOf } from './events-read.ts'

/** What one step of retention deletes at most: a few milliseconds of work. */
const RETAINED_EVENTS = 500
const RETAINED_BLOCKS = 4

export function eventWriter(database: DatabaseSync, addresses: AddressTable) {
  const ids = logIdOf(database)
  const kinds = kindTable(database)
  const blocks = eventBlocks(database, kinds)
  const pack = eventPacker(database, { ids, kinds, addresses })
  const log = database.prepare('SELECT newest_seq, bytes FROM event_log')
  const advance = database.prepare('UPDATE event_log SET newest_seq = ?, bytes = bytes + ?')
  const insert = database.prepare('INSERT INTO event_tail VALUES (?, ?, ?, ?, ?)')
  const tail = database.prepare('SELECT * FROM event_tail ORDER BY seq LIMIT ?')
  const removeTail = database.prepare('DELETE FROM event_tail WHERE seq = ?')
  const removeBlock = database.prepare('DELETE FROM event_blocks WHERE last_seq = ?')
  const removeAddress = database.prepare('DELETE FROM event_addresses WHERE address = ? AND block = ?')
  const newestSeq = () => Number(log.get()?.newest_seq)

  function forgetBlock(lastSeq: number): void {
    for (const address of addressesOf(blocks.unpack(lastSeq))) {
      const id = addresses.find(address)
      if (id !== undefined) removeAddress.run(id, lastSeq)
    }
    removeBlock.run(lastSeq)
  }

  return {
    newestSeq,
    /** The number of the first one; the others follow. */
    append(events: readonly NewEvent[]): number {
      const first = newestSeq() + 1
      let bytes = 0
      for (const [index, event] of events.entries()) {
        const seq = first + index
        insert.run(seq, kinds.open(event.kind), event.createdAtMs, event.addresses.join(' '), event.tail)
        bytes += ids.headOf(seq).length + event.tail.length
      }
      if (events.length === 0) return first
      const newest = first + events.length - 1
      advance.run(newest, bytes)
      pack(newest)
      return first
    },
    /** Whole blocks first, the oldest; a block goes when its newest event may. */
    retain({ beforeMs, maxBytes }: { beforeMs: number; maxBytes: number }) {
      let left = Number(log.get()?.bytes)
      const before = left
      let deleted = 0
      const mayGo = (atMs: number) => atMs < beforeMs || left > maxBytes
      const oldest = blocks.from(0, RETAINED_BLOCKS)
      for (const block of oldest) {
        if (!mayGo(block.lastAtMs)) break
        forgetBlock(block.lastSeq)
        left -= block.bytes
        deleted += block.count
      }
      const inTail = oldest.length === 0 ? tail.all(RETAINED_EVENTS) : []
      for (const row of inTail) {
        const event = toParts(row, kinds)
        if (!mayGo(event.createdAtMs)) break
        removeTail.run(event.seq)
        left -= sizeOf(event, ids)
        deleted++
      }
      if (deleted > 0) advance.run(newestSeq(), left - before)
      return { deleted, more: deleted >= RETAINED_EVENTS || (deleted > 0 && oldest.length > 0) }
    },
    numberAbove(seq: number): void {
      if (newestSeq() < seq) advance.run(seq, 0)
    },
    /** A transaction was undone. */
    forget(): void {
      kinds.forget()
      blocks.forget()
    },
  }
}

export type EventWriter = ReturnType<typeof eventWriter>
