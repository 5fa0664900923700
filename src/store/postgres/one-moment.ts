/**
 * Reads parts of feeds that belong together: rows, coverage, and the versions that they are served with. On one server
 * they come from one snapshot. If tables are on several servers, no snapshot covers them all, so the read checks
 * whether the feeds have changed meanwhile:
 *
 *   versions ──▶ rows, coverage ──▶ the same versions? ──yes──▶ done
 *      ▲                                   │ no
 *      └───────────────────────────────────┘
 *
 * A commit is visible here slightly earlier than on the other servers. Writers hold a lock of their feeds until it is
 * visible on all of them (`lockUntilSeen`), and a read waits while that lock is held.
 */
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { systemClock } from '../../kit/clock.ts'
import { arrayOf } from './columns.ts'
import { type Database, type Queries, statement } from './database.ts'

/** The lock of a feed, which differs between schemas. The id is hashed because it can exceed an int. */
const LOCK_NAME = 'hashtext(current_schema()), hashint8(id)'
const LOCK = statement(
  'feeds_lock_until_seen',
  `SELECT pg_advisory_xact_lock(${LOCK_NAME}) FROM unnest($1::bigint[]) AS id ORDER BY hashint8(id)`,
)
const VERSIONS = statement(
  'feeds_versions',
  `SELECT id, version, pg_try_advisory_xact_lock_shared(${LOCK_NAME}) AS "isSeen" FROM feeds
    WHERE id = ANY ($1::bigint[]) ORDER BY id`,
)

const MAX_TRIES = 100
const WAIT_MS = 5

/** The last statement before the commit of a write, so that the lock is held until all servers have committed. */
export async function lockUntilSeen(tx: Queries, ids: readonly number[]): Promise<void> {
  await tx.rows(LOCK, [arrayOf(ids)])
}

/** `ids` returns the feeds known by now. `run` makes several statements. */
export async function ofOneMoment<R>(
  database: Database,
  ids: () => readonly number[],
  run: (queries: Queries) => Promise<R>,
): Promise<R> {
  return (await database.isSpread())
    ? untilUnchanged(database, ids, () => database.snapshot(run))
    : database.snapshot(run)
}

/** `together` reads everything in one statement, `byFeed` each feed and each kind of data in its own. */
export async function ofOneState<R>(
  database: Database,
  ids: () => readonly number[],
  { together, byFeed }: { together: () => Promise<R>; byFeed: () => Promise<R> },
): Promise<R> {
  return (await database.isSpread()) ? untilUnchanged(database, ids, byFeed) : together()
}

async function untilUnchanged<R>(
  database: Database,
  ids: () => readonly number[],
  run: () => Promise<R>,
): Promise<R> {
  const versions = () =>
    database.rows<{ id: number; version: number; isSeen: boolean }>(VERSIONS, [arrayOf(ids())])
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (tries > 0) await systemClock.sleep(WAIT_MS)
    const before = await versions()
    if (!before.every(({ isSeen }) => isSeen)) continue
    const result = await run().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    const after = await versions()
    // There are more of them if some feeds got their first rows meanwhile.
    const isUnchanged =
      after.length === before.length && after.every(({ version }, i) => version === before[i]?.version)
    if (!isUnchanged) continue
    // Only now, because parts of two moments might have been the only reason for the error.
    if ('error' in result) throw result.error
    return result.value
  }
  throw new StoreUnavailableError('What is asked for changes faster than it can be read.')
}
