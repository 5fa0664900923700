/** Writes the event log. `appendEvents` runs inside the transaction of a caller that has locked `chain_state`. */
import { isPruned, PruneTime } from '../chain/prune-time.ts'
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
  `SELECT oldest_seq AS "oldestSeq", bytes, now_ms() AS now,
      (SELECT time_ms FROM chain_blocks ORDER BY id DESC LIMIT 1) AS newest FROM chain_state FOR UPDATE`,
)
const OLDEST = statement(
  'events_oldest',
  `SELECT seq, size, created_at AS "createdAtMs" FROM events WHERE seq >= $1::bigint ORDER BY seq LIMIT $2::int`,
)
const FIRST_UP_TO = statement(
  'events_first_up_to',
  `SELECT seq, created_at AS "createdAtMs" FROM events WHERE seq > $1::bigint AND created_at <= $2::bigint
    ORDER BY seq LIMIT 1`,
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

/** The maximum number of events that one retention step deletes, which takes some tens of milliseconds. */
const RETAINED_EVENTS = 2_000

/** Numbers the events from `firstSeq` on; `size` is the number of characters that they are served with. */
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
  let firstRight: Pick<OldEvent, 'seq' | 'createdAtMs'> | undefined

  /** The first time after this number that is not in the future; remembered because many retention steps need it. */
  async function rightTimeAfter(queries: Queries, seq: number, time: PruneTime): Promise<number | undefined> {
    if (firstRight === undefined || firstRight.seq <= seq || time.isFuture(firstRight.createdAtMs)) {
      const rows = await queries.rows<OldEvent>(FIRST_UP_TO, [seq, time.futureAfterMs])
      firstRight = rows[0]
    }
    return firstRight?.createdAtMs
  }

  /**
   * An event dated by a clock that was ahead gets the time of the first correctly dated event after it; otherwise it
   * would hold up the rest until its own time has come. Undefined if there is no such event yet.
   */
  async function rightTimes(
    queries: Queries,
    oldest: readonly OldEvent[],
    time: PruneTime,
  ): Promise<(number | undefined)[]> {
    const last = oldest.at(-1)
    const isLastFuture = last !== undefined && time.isFuture(last.createdAtMs)
    let rightMs = isLastFuture ? await rightTimeAfter(queries, last.seq, time) : undefined
    const times: (number | undefined)[] = []
    for (const { createdAtMs } of oldest.toReversed()) {
      if (!time.isFuture(createdAtMs)) rightMs = createdAtMs
      times.push(rightMs)
    }
    return times.reverse()
  }

  return {
    async numberAbove(seq: number): Promise<void> {
      await database.run(NUMBER_ABOVE, [seq])
    },
    retain: ({ maxAgeMs, maxBytes }: Retention) =>
      database.write(async (transaction) => {
        const [log] = await transaction.rows<LockedLog>(LOCK)
        if (log === undefined || log.oldestSeq === null) return { deleted: 0, more: false }
        const { oldestSeq, now, newest } = log
        const time = new PruneTime(now, newest)
        const old = time.olderThan(maxAgeMs)
        const oldest = await transaction.rows<OldEvent>(OLDEST, [oldestSeq, RETAINED_EVENTS])
        const times = await rightTimes(transaction, oldest, time)
        let left = log.bytes
        const kept = oldest.findIndex(({ size }, place) => {
          const atMs = times[place]
          if (left <= maxBytes && (atMs === undefined || !isPruned(atMs, old))) return true
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
  readonly now: number
  /** The time of the newest block. */
  readonly newest: number | null
}

interface OldEvent {
  readonly seq: number
  readonly size: number
  readonly createdAtMs: number
}
