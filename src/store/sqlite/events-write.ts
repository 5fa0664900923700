/** Writes of the event log. Each runs inside a transaction that the caller has begun. */
import type { DatabaseSync } from 'node:sqlite'
import type { NewEvent, Retention } from '../events.ts'
import type { AddressTable } from './chain-addresses.ts'
import { eventIds } from './event-ids.ts'

/** Events that one step of retention forgets at most: a few milliseconds of work. */
const RETAIN_STEP = 500

export interface EventWriter {
  newestSeq(): number
  /** The number of the first one; the others follow. */
  append(events: readonly NewEvent[]): number
  retain(retention: Retention): { deleted: number; more: boolean }
  numberAbove(seq: number): void
}

export function eventWriter(database: DatabaseSync, addresses: AddressTable): EventWriter {
  const ids = eventIds(database)
  const newest = database.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'events'`)
  const insert = database.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?)')
  const insertAddress = database.prepare('INSERT OR IGNORE INTO event_addresses VALUES (?, ?)')
  const addBytes = database.prepare(
    `UPDATE facts SET value = CAST(CAST(value AS INTEGER) + ? AS TEXT) WHERE name = 'event_bytes'`,
  )
  const bytesKept = database.prepare(
    `SELECT CAST(value AS INTEGER) AS bytes FROM facts WHERE name = 'event_bytes'`,
  )
  const oldest = database.prepare(
    'SELECT seq, created_at, addresses, length(text) AS size FROM events ORDER BY seq LIMIT ?',
  )
  const remove = database.prepare('DELETE FROM events WHERE seq = ?')
  const removeAddress = database.prepare('DELETE FROM event_addresses WHERE address = ? AND seq = ?')
  const newestSeq = () => Number(newest.get()?.seq ?? 0)
  // SQLite's own table has no key, and no row for a table that never had one.
  const moveNumbers = database.prepare(`UPDATE sqlite_sequence SET seq = ? WHERE name = 'events'`)
  const startNumbers = database.prepare(`INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)`)

  return {
    newestSeq,
    append(events) {
      const first = newestSeq() + 1
      let bytes = 0
      for (const [index, event] of events.entries()) {
        const seq = first + index
        const text = `{"id":"${ids.of(seq)}","seq":${seq},${event.tail}`
        insert.run(seq, event.kind, event.createdAtMs, event.addresses.join(' '), text)
        for (const address of event.addresses) insertAddress.run(addresses.open(address), seq)
        bytes += text.length
      }
      if (bytes > 0) addBytes.run(bytes)
      return first
    },
    retain({ olderThanMs, maxBytes }) {
      let left = Number(bytesKept.get()?.bytes ?? 0)
      let freed = 0
      let deleted = 0
      for (const row of oldest.all(RETAIN_STEP)) {
        if (Number(row.created_at) >= olderThanMs && left <= maxBytes) break
        remove.run(Number(row.seq))
        for (const address of String(row.addresses).split(' ')) {
          const id = address === '' ? undefined : addresses.find(address)
          if (id !== undefined) removeAddress.run(id, Number(row.seq))
        }
        left -= Number(row.size)
        freed += Number(row.size)
        deleted++
      }
      if (freed > 0) addBytes.run(-freed)
      return { deleted, more: deleted === RETAIN_STEP }
    },
    numberAbove(seq) {
      if (newestSeq() >= seq) return
      if (Number(moveNumbers.run(seq).changes) === 0) startNumbers.run(seq)
    },
  }
}
