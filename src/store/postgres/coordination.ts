import type { AttemptCount } from '../attempt-counts.ts'
import type { CoordinationStore } from '../coordination.ts'
import type { Heartbeat } from '../heartbeats.ts'
import { HOLDER_MS } from '../shared-counts.ts'
import { COORDINATION_MIGRATIONS } from './coordination-schema.ts'
import { statement } from './database.ts'
import { type DatabaseOptions, openDatabase } from './open-database.ts'
import { storable } from './texts.ts'

/** Expired rows are deleted in small batches, those of counts once every PRUNE_EVERY exchanges. */
const PRUNED_AT_ONCE = 5_000
const PRUNE_EVERY = 20
const FORGOTTEN_AT_ONCE = 100

/**
 * Takes one round trip, and its commit does not wait for the disk because it changes only unlogged tables. It rewrites
 * only counts that changed or have less than half of their time left.
 */
const EXCHANGE = statement(
  'count_exchange',
  `WITH n AS (
     SELECT * FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) WITH ORDINALITY
       AS n (name, window_start, count, valid_ms, place)),
   present AS (
     INSERT INTO count_holders (holder, until_ms) VALUES ($1, now_ms() + ${HOLDER_MS})
     ON CONFLICT (holder) DO UPDATE SET until_ms = excluded.until_ms),
   own AS (
     INSERT INTO shared_counts AS c (name, window_start, holder, count, until_ms)
     SELECT name, window_start, $1, count, now_ms() + valid_ms FROM n
     WHERE count > 0 OR EXISTS (
       SELECT FROM shared_counts c WHERE (c.name, c.window_start, c.holder) = (n.name, n.window_start, $1))
     ON CONFLICT (name, window_start, holder) DO UPDATE SET count = excluded.count, until_ms = excluded.until_ms
       WHERE c.count <> excluded.count OR c.until_ms - now_ms() < (excluded.until_ms - now_ms()) / 2),
   sums AS (
     SELECT n.place, coalesce(sum(c.count), 0)::int AS count FROM n
     LEFT JOIN shared_counts c ON c.name = n.name AND c.window_start = n.window_start AND c.holder <> $1
       AND c.until_ms > now_ms()
     GROUP BY n.place)
   SELECT now_ms() AS "nowMs", ARRAY(SELECT count FROM sums ORDER BY place) AS others,
     1 + (SELECT count(*) FROM count_holders WHERE holder <> $1 AND until_ms > now_ms()) AS processes`,
)
const PRUNE_COUNTS = statement(
  'count_prune',
  `DELETE FROM shared_counts WHERE (name, window_start, holder) IN (
     SELECT name, window_start, holder FROM shared_counts WHERE until_ms <= now_ms()
     LIMIT ${PRUNED_AT_ONCE} FOR UPDATE SKIP LOCKED)`,
)
const PRUNE_HOLDERS = statement(
  'count_prune_holders',
  `DELETE FROM count_holders WHERE holder IN (
     SELECT holder FROM count_holders WHERE until_ms <= now_ms() FOR UPDATE SKIP LOCKED)`,
)

const ADD_ATTEMPTS = statement(
  'attempt_add',
  `INSERT INTO attempts AS a (name, count, until_ms)
   SELECT name, 1, now_ms() + $2::bigint FROM unnest($1::text[]) AS n (name) ORDER BY name COLLATE "C"
   ON CONFLICT (name) DO UPDATE SET
     -- An end further ahead than a window was written under a clock that has been set back since.
     count = CASE WHEN a.until_ms > now_ms() AND a.until_ms <= excluded.until_ms THEN a.count + 1 ELSE 1 END,
     until_ms = CASE WHEN a.until_ms > now_ms() AND a.until_ms <= excluded.until_ms THEN a.until_ms
       ELSE excluded.until_ms END
   RETURNING name, count - 1 AS before, until_ms - now_ms() AS "leftMs"`,
)
const LOCK_ATTEMPTS = statement(
  'attempt_lock',
  'SELECT 1 FROM attempts WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE',
)
const TAKE_BACK = statement(
  'attempt_take_back',
  'UPDATE attempts SET count = greatest(count - 1, 0) WHERE name = ANY($1::text[])',
)
const FORGET = statement('attempt_forget', 'DELETE FROM attempts WHERE name = ANY($1::text[])')
const PRUNE_ATTEMPTS = statement(
  'attempt_prune',
  `DELETE FROM attempts WHERE name IN (
     SELECT name FROM attempts WHERE until_ms <= now_ms() LIMIT ${FORGOTTEN_AT_ONCE} FOR UPDATE SKIP LOCKED)`,
)

/** Locks and returns the row of the first writer. */
const SECRET = statement(
  'secret_put',
  `INSERT INTO shared_secrets AS s (name, value) VALUES ($1, $2)
   ON CONFLICT (name) DO UPDATE SET value = s.value RETURNING value`,
)

const PUT_HEARTBEAT = statement(
  'heartbeat_put',
  `INSERT INTO heartbeats (part, text, at_ms) VALUES ($1, $2, now_ms())
   ON CONFLICT (part) DO UPDATE SET text = excluded.text, at_ms = excluded.at_ms`,
)
const LIST_HEARTBEATS = statement(
  'heartbeat_list',
  'SELECT part, text, greatest(now_ms() - at_ms, 0) AS "ageMs" FROM heartbeats ORDER BY part',
)
const REMOVE_HEARTBEAT = statement('heartbeat_remove', 'DELETE FROM heartbeats WHERE part = $1')

export function openPostgresCoordination(
  options: Pick<DatabaseOptions, 'address' | 'clock'>,
): CoordinationStore {
  const db = openDatabase({
    ...options,
    schema: options.address.schema,
    label: 'coordination',
    migrations: COORDINATION_MIGRATIONS,
  })
  let exchanges = 0
  return {
    async exchangeCounts({ holder, counts }) {
      const [row] = await db.rows<{ nowMs: number; others: number[]; processes: number }>(EXCHANGE, [
        holder,
        counts.map(({ name }) => name),
        counts.map(({ windowStartMs }) => windowStartMs),
        counts.map(({ count }) => count),
        counts.map(({ validMs }) => validMs),
      ])
      if (row === undefined) throw new Error('an exchange of counts returned nothing')
      // Not awaited, because the next round deletes what this one could not.
      if (exchanges++ % PRUNE_EVERY === 0)
        Promise.all([db.rows(PRUNE_COUNTS), db.rows(PRUNE_HOLDERS)]).catch(() => {})
      return row
    },

    addAttempts: (names, windowMs) =>
      db.write(async (tx) => {
        const known = names.map(storable)
        const [rows] = await Promise.all([
          tx.rows<AttemptCount & { name: string }>(ADD_ATTEMPTS, [known, windowMs]),
          tx.run(PRUNE_ATTEMPTS),
        ])
        const byName = new Map(rows.map(({ name, before, leftMs }) => [name, { before, leftMs }]))
        return known.map((name) => byName.get(name) ?? { before: 0, leftMs: windowMs })
      }),
    takeBackAttempts: (names) =>
      db.write(async (tx) => {
        const known = names.map(storable)
        await Promise.all([tx.rows(LOCK_ATTEMPTS, [known]), tx.run(TAKE_BACK, [known])])
      }),
    forgetAttempts: (names) =>
      db.write(async (tx) => {
        const known = names.map(storable)
        await Promise.all([tx.rows(LOCK_ATTEMPTS, [known]), tx.run(FORGET, [known])])
      }),

    async sharedSecret(name, proposed) {
      const [row] = await db.write((tx) => tx.rows<{ value: string }>(SECRET, [name, proposed]))
      if (row === undefined) throw new Error('a secret that was just written is missing')
      return row.value
    },

    async putHeartbeat({ part, text }) {
      await db.run(PUT_HEARTBEAT, [part, text])
    },
    listHeartbeats: () => db.rows<Heartbeat & { ageMs: number }>(LIST_HEARTBEATS),
    async removeHeartbeat(part) {
      await db.run(REMOVE_HEARTBEAT, [part])
    },

    close: () => db.close(),
  }
}
