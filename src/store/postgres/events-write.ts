/** Writes of the event log, inside the transaction of the caller, who has locked `chain_state`. */
import { eventIds } from '../events/event-id.ts'
import type { NewEvent, Retention } from '../events.ts'
import { type Database, type Queries, statement } from './database.ts'

const INSERT = statement(
  'events_insert',
  `INSERT INTO events (seq, kind, created_at, addresses, size, tail)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::int[], $6::text[])`,
)
const INSERT_ADDRESSES = statement(
  'events_insert_addresses',
  'INSERT INTO event_addresses (address, seq) SELECT * FROM unnest($1::text[], $2::bigint[])',
)
const NUMBER_ABOVE = statement(
  'events_number_above',
  'UPDATE chain_state SET newest_seq = $1::bigint WHERE newest_seq < $1::bigint',
)
const LOCK = statement(
  'events_lock',
  'SELECT oldest_seq AS "oldestSeq", bytes, now_ms() - $1::bigint AS "beforeMs" FROM chain_state FOR UPDATE',
)
const OLDEST = statement(
  'events_oldest',
  `SELECT seq, size, created_at AS "createdAtMs" FROM events WHERE seq >= $1::bigint ORDER BY seq LIMIT $2::int`,
)
const DELETE_ADDRESSES = statement(
  'events_delete_addresses',
  `DELETE FROM event_addresses a
    USING (SELECT seq, unnest(string_to_array(addresses, ' ')) AS address FROM events
      WHERE seq >= $1::bigint AND seq <= $2::bigint) e
    WHERE a.address = e.address AND a.seq = e.seq`,
)
const DELETE = statement('events_delete', 'DELETE FROM events WHERE seq >= $1::bigint AND seq <= $2::bigint')
const RETAINED = statement(
  'events_retained',
  `UPDATE chain_state SET bytes = bytes - $1::bigint,
    oldest_seq = (SELECT seq FROM events WHERE seq > $2::bigint ORDER BY seq LIMIT 1)`,
)

/** What one step of retention deletes at most: some tens of milliseconds. */
const RETAINED_EVENTS = 2_000

/** Numbers the events from `firstSeq` on; the number of characters that they are served with. */
export function appendEvents(
  queries: Queries,
  events: readonly NewEvent[],
  { logName, firstSeq }: { logName: string; firstSeq: number },
): { size: number; written: Promise<unknown> } {
  if (events.length === 0) return { size: 0, written: Promise.resolve() }
  const ids = eventIds(logName)
  const seqs = events.map((_, place) => firstSeq + place)
  const sizes = events.map(({ tail }, place) => ids.headOf(firstSeq + place).length + tail.length)
  const places = events.flatMap(({ addresses }, place) =>
    [...new Set(addresses)].map((address) => ({ address, seq: firstSeq + place })),
  )
  const written = [
    queries.run(INSERT, [
      seqs,
      events.map(({ kind }) => kind),
      events.map(({ createdAtMs }) => createdAtMs),
      events.map(({ addresses }) => addresses.join(' ')),
      sizes,
      events.map(({ tail }) => tail),
    ]),
  ]
  if (places.length > 0) {
    written.push(
      queries.run(INSERT_ADDRESSES, [places.map(({ address }) => address), places.map(({ seq }) => seq)]),
    )
  }
  return { size: sizes.reduce((sum, size) => sum + size, 0), written: Promise.all(written) }
}

export function eventWriter(database: Database) {
  return {
    async numberAbove(seq: number): Promise<void> {
      await database.run(NUMBER_ABOVE, [seq])
    },
    retain: ({ maxAgeMs, maxBytes }: Retention) =>
      database.write(async (transaction) => {
        const [log] = await transaction.rows<LockedLog>(LOCK, [maxAgeMs])
        if (log === undefined || log.oldestSeq === null) return { deleted: 0, more: false }
        const { oldestSeq, beforeMs } = log
        const oldest = await transaction.rows<OldEvent>(OLDEST, [oldestSeq, RETAINED_EVENTS])
        let left = log.bytes
        const kept = oldest.findIndex(({ createdAtMs, size }) => {
          if (createdAtMs >= beforeMs && left <= maxBytes) return true
          left -= size
          return false
        })
        const deleted = kept < 0 ? oldest.length : kept
        const last = oldest[deleted - 1]
        if (last === undefined) return { deleted: 0, more: false }
        await Promise.all([
          transaction.run(DELETE_ADDRESSES, [oldestSeq, last.seq]),
          transaction.run(DELETE, [oldestSeq, last.seq]),
          transaction.run(RETAINED, [log.bytes - left, last.seq]),
        ])
        return { deleted, more: deleted === RETAINED_EVENTS }
      }),
  }
}

interface LockedLog {
  readonly oldestSeq: number | null
  readonly bytes: number
  readonly beforeMs: number
}

interface OldEvent {
  readonly seq: number
  readonly size: number
  readonly createdAtMs: number
}
