/** Writes of the event log. Each runs inside a transaction that the caller has begun. */
import type { DatabaseSync } from 'node:sqlite'
import { isPruned, type PruneTime } from '../chain/prune-time.ts'
import type { NewEvent, Retention } from '../events.ts'
import type { AddressTable } from './chain-addresses.ts'
import { pruneTimeReader } from './chain-facts.ts'
import { addressesOf, eventBlocks, eventPacker, kindTable, sizeOf, toParts } from './events-blocks.ts'
import { logIdOf } from './events-read.ts'

/** Maximum that one step of retention deletes: a few milliseconds of work. */
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
  const readPruneTime = pruneTimeReader(database)
  const blockUpTo = database.prepare(
    'SELECT last_seq AS seq, last_at AS at FROM event_blocks WHERE last_seq > ? AND last_at <= ? ORDER BY last_seq LIMIT 1',
  )
  const tailUpTo = database.prepare(
    'SELECT seq, created_at AS at FROM event_tail WHERE seq > ? AND created_at <= ? ORDER BY seq LIMIT 1',
  )
  let firstRight: { seq: number; atMs: number } | undefined
  const newestSeq = () => Number(log.get()?.newest_seq)

  /**
   * The first time after this number that is not in the future; cached because many steps of retention ask for the same
   * one.
   */
  function rightTimeAfter(seq: number, time: PruneTime): number | undefined {
    if (firstRight === undefined || firstRight.seq <= seq || time.isFuture(firstRight.atMs)) {
      const row = blockUpTo.get(seq, time.futureAfterMs) ?? tailUpTo.get(seq, time.futureAfterMs)
      firstRight = row && { seq: Number(row.seq), atMs: Number(row.at) }
    }
    return firstRight?.atMs
  }

  function forgetBlock(lastSeq: number): void {
    for (const address of addressesOf(blocks.unpack(lastSeq))) {
      const id = addresses.find(address)
      if (id !== undefined) removeAddress.run(id, lastSeq)
    }
    removeBlock.run(lastSeq)
  }

  return {
    newestSeq,
    /** Returns the number of the first event; the others follow. */
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
    /**
     * Deletes whole blocks first, oldest first; a block is deleted once its newest event has expired. An event that a
     * clock which was ahead has dated into the future expires with the first later event that has a plausible time;
     * otherwise it would hold up the rest until its time comes.
     */
    retain({ maxAgeMs, maxBytes }: Retention, nowMs: number) {
      let left = Number(log.get()?.bytes)
      const before = left
      let deleted = 0
      const { time } = readPruneTime(nowMs)
      const old = time.olderThan(maxAgeMs)
      const mayGo = (seq: number, atMs: number) => {
        if (left > maxBytes) return true
        const rightMs = time.isFuture(atMs) ? rightTimeAfter(seq, time) : atMs
        return rightMs !== undefined && isPruned(rightMs, old)
      }
      const oldest = blocks.from(0, RETAINED_BLOCKS)
      for (const block of oldest) {
        if (!mayGo(block.lastSeq, block.lastAtMs)) break
        forgetBlock(block.lastSeq)
        left -= block.bytes
        deleted += block.count
      }
      const inTail = oldest.length === 0 ? tail.all(RETAINED_EVENTS) : []
      for (const row of inTail) {
        const event = toParts(row, kinds)
        if (!mayGo(event.seq, event.createdAtMs)) break
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
    /** Called after a rollback. */
    forget(): void {
      kinds.forget()
      blocks.forget()
    },
  }
}

export type EventWriter = ReturnType<typeof eventWriter>
