import { changesSelection, hasValues } from '../jobs/has-values.ts'
import { changedIds, isTooFar, LISTED_CHANGES } from '../jobs/listed-changes.ts'
import { SUBSCRIPTION_COLUMNS } from '../jobs/subscription-columns.ts'
import {
  DELETE_ROWS,
  type JobsStore,
  MAX_DELETE_STEPS,
  type ReceiverHealth,
  type SubscriptionPlace,
  type SubscriptionRecord,
  UNUSED_SUBSCRIPTION,
} from '../jobs.ts'
import { type Database, type Queries, statement } from './database.ts'
import { storable } from './texts.ts'

/** The time of the last success is written at most this often. */
const SUCCESS_STEP_MS = 1_000
const BEFORE_ALL: SubscriptionPlace = { createdAtMs: -1, id: '' }

const FIELDS = Object.entries(SUBSCRIPTION_COLUMNS)
const SELECTED = FIELDS.map(([field, column]) => `${column} AS "${field}"`).join(', ')
const NAMES = FIELDS.map(([, column]) => column).join(', ')
const PARAMETERS = FIELDS.map((_, index) => `$${index + 1}`).join(', ')

const BY_ID = statement('subscription_by_id', `SELECT ${SELECTED} FROM subscriptions WHERE id = $1`)
const LOCK = statement('subscription_lock', `SELECT ${SELECTED} FROM subscriptions WHERE id = $1 FOR UPDATE`)
/** $1 previous id, $2 subscriptions, $3 bytes of addresses, whose stored size is known without reading them. */
const PAGE = statement(
  'subscription_page',
  `SELECT ${SELECTED} FROM subscriptions WHERE id = ANY (ARRAY(
     SELECT id FROM (
       SELECT id, sum(bytes) OVER (ORDER BY id) AS total, row_number() OVER (ORDER BY id) AS place
       FROM (SELECT id, pg_column_size(addresses) AS bytes FROM subscriptions
         WHERE id > $1 ORDER BY id LIMIT $2::int) sizes) page
     WHERE place = 1 OR total <= $3::bigint))
   ORDER BY id`,
)
const PLACES = statement(
  'subscription_places',
  `SELECT created_at AS "createdAtMs", id FROM subscriptions
   WHERE account_id = $1 AND (created_at, id) > ($2::bigint, $3::text) AND (active OR NOT $5::boolean)
   ORDER BY created_at, id LIMIT $4`,
)
const VERSION = statement('subscription_version', 'SELECT value FROM subscriptions_version')
/** Locked before anything else except the planner's position; jobs, texts of events and subscriptions follow. */
const LOCK_VERSION = statement(
  'subscription_lock_version',
  'SELECT value FROM subscriptions_version FOR UPDATE',
)
/**
 * Above all versions of earlier timelines, because processes may know some that this server has not seen
 * (connection.ts).
 */
const NEXT_VERSION = `greatest(value, current_setting('tapeline.number_base')::bigint) + 1`
/** $1 the subscriptions that were changed, $2 whether other events may be wanted now */
const RAISE_VERSION = statement(
  'subscription_raise_version',
  `WITH raised AS (
     UPDATE subscriptions_version SET value = ${NEXT_VERSION},
       selected = CASE WHEN $2::boolean THEN ${NEXT_VERSION} ELSE selected END
     RETURNING value),
   unlisted AS (DELETE FROM subscription_changes WHERE version <= (SELECT value FROM raised) - ${LISTED_CHANGES})
   INSERT INTO subscription_changes (version, id) SELECT raised.value, n.id FROM raised, unnest($1::text[]) AS n (id)`,
)
const CHANGES = statement(
  'subscription_changes',
  'SELECT version, id FROM subscription_changes WHERE version > $1::bigint AND version <= $2::bigint',
)
const COUNT = statement(
  'subscription_count',
  'SELECT count(*) AS count FROM subscriptions WHERE account_id = $1',
)
const INSERT = statement('subscription_insert', `INSERT INTO subscriptions (${NAMES}) VALUES (${PARAMETERS})`)
/** One statement for any change, because one for every combination of columns would make thousands. */
const UPDATE = statement(
  'subscription_update',
  `UPDATE subscriptions SET (${NAMES}) = ROW (${PARAMETERS}) WHERE id = $1`,
)
const LOCK_JOBS = statement(
  'subscription_lock_jobs',
  `SELECT number FROM jobs WHERE subscription_id = $1 ORDER BY number LIMIT ${DELETE_ROWS} FOR UPDATE`,
)
const DELETE_JOBS = statement(
  'subscription_delete_jobs',
  'DELETE FROM jobs WHERE subscription_id = $1 AND number = ANY($2::bigint[])',
)
const DELETE = statement('subscription_delete', 'DELETE FROM subscriptions WHERE id = $1')
/** In the order of ids, so that two workers that record the health of the same receivers do not deadlock. */
const LOCK_CHANGED = statement(
  'subscription_lock_changed',
  `SELECT s.id FROM subscriptions s JOIN unnest($1::text[], $2::boolean[], $3::bigint[], $4::bigint[], $5::text[])
     AS n (id, succeeded, success_at, failed_at, disable) ON n.id = s.id
   WHERE n.disable IS NOT NULL OR (NOT n.succeeded AND s.failing_since IS NULL)
     OR n.succeeded AND (n.failed_at IS NOT NULL OR s.failing_since IS NOT NULL OR s.last_success_at IS NULL
       OR s.last_success_at < n.success_at - ${SUCCESS_STEP_MS})
   ORDER BY s.id FOR UPDATE OF s`,
)
const FAILING_SINCE = 'CASE WHEN n.succeeded THEN n.failed_at ELSE coalesce(s.failing_since, n.failed_at) END'
const IS_DISABLED = `(n.disable IS NOT NULL
  AND (n.failing_before IS NULL OR coalesce(${FAILING_SINCE} <= n.failing_before, false)))`
const NOTE_HEALTH = statement(
  'subscription_note_health',
  `UPDATE subscriptions s SET
     failing_since = ${FAILING_SINCE},
     last_success_at = CASE WHEN n.succeeded THEN n.success_at ELSE s.last_success_at END,
     active = s.active AND NOT ${IS_DISABLED},
     disabled_reason = CASE WHEN s.active AND ${IS_DISABLED} THEN n.disable ELSE s.disabled_reason END,
     disabled_at = CASE WHEN s.active AND ${IS_DISABLED} THEN n.disabled_at ELSE s.disabled_at END
   FROM unnest($1::text[], $2::boolean[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[],
     $7::bigint[]) AS n (id, succeeded, success_at, failed_at, disable, disabled_at, failing_before)
   WHERE s.id = n.id AND s.id = ANY($8::text[])`,
)

type SubscriptionRow = Omit<SubscriptionRecord, 'kinds' | 'addresses'> & {
  readonly kinds: string
  readonly addresses: string
}

type Subscriptions = Pick<
  JobsStore,
  | 'createSubscription'
  | 'getSubscription'
  | 'subscriptionPage'
  | 'subscriptionPlaces'
  | 'updateSubscription'
  | 'deleteSubscription'
  | 'subscriptionsVersion'
  | 'subscriptionChanges'
>

export function subscriptionRecords(db: Database): Subscriptions {
  return {
    createSubscription: (subscription, maxOfAccount) =>
      db.write(async (tx) => {
        const [, [counted], [before]] = await Promise.all([
          tx.rows(LOCK_VERSION),
          tx.rows<{ count: number }>(COUNT, [subscription.accountId]),
          tx.rows<SubscriptionRow>(BY_ID, [subscription.id]),
        ])
        if (before !== undefined) return toSubscription(before)
        if ((counted?.count ?? 0) >= maxOfAccount) return undefined
        const created = { ...UNUSED_SUBSCRIPTION, ...subscription }
        await Promise.all([tx.run(INSERT, valuesOf(created)), tx.run(RAISE_VERSION, [[created.id], true])])
        return created
      }),
    async getSubscription(id) {
      const [row] = await db.rows<SubscriptionRow>(BY_ID, [storable(id)])
      return row && toSubscription(row)
    },
    subscriptionPage: async ({ afterId, limit, maxChars }) =>
      (await db.rows<SubscriptionRow>(PAGE, [afterId, limit, maxChars])).map(toSubscription),
    subscriptionPlaces: ({ accountId, limit, activeOnly = false, after = BEFORE_ALL }) =>
      db.rows<SubscriptionPlace>(PLACES, [
        ...[accountId, after.createdAtMs, storable(after.id), limit],
        activeOnly,
      ]),
    async subscriptionsVersion() {
      return (await db.rows<{ value: number }>(VERSION))[0]?.value ?? 0
    },
    async subscriptionChanges(range) {
      if (isTooFar(range)) return undefined
      return changedIds(
        await db.rows<{ version: number; id: string }>(CHANGES, [range.after, range.upTo]),
        range,
      )
    },
    updateSubscription: (id, patch, onlyIf = {}) =>
      db.write(async (tx) => {
        const [, [row]] = await Promise.all([
          tx.rows(LOCK_VERSION),
          tx.rows<SubscriptionRow>(LOCK, [storable(id)]),
        ])
        if (row === undefined) return undefined
        const found = toSubscription(row)
        if (!hasValues(found, onlyIf)) return undefined
        if (hasValues(found, patch)) return found
        const changed = { ...found, ...patch }
        const isSelection = changesSelection(found, patch)
        await Promise.all([
          tx.run(UPDATE, valuesOf(changed)),
          tx.run(RAISE_VERSION, [[found.id], isSelection]),
        ])
        return changed
      }),
    async deleteSubscription(id) {
      const key = storable(id)
      const deleted = await db.write(async (tx) => {
        const [, count] = await Promise.all([
          tx.rows(LOCK_VERSION),
          tx.run(DELETE, [key]),
          tx.run(RAISE_VERSION, [[key], true]),
        ])
        return count
      })
      // Deleted in steps that hold their locks only briefly. Anything left, such as the history, is pruned later, also
      // after an error, because the subscription itself is already deleted.
      const deleteSome = () => deleteJobs(db, key).catch(() => 0)
      for (let step = 0; step < MAX_DELETE_STEPS; step++) if ((await deleteSome()) < DELETE_ROWS) break
      return deleted > 0
    },
  }
}

/** Deletes one batch of jobs and returns their number. */
export function deleteJobs(db: Database, subscriptionId: string): Promise<number> {
  return db.write(async (tx) => {
    const locked = await tx.rows<{ number: number }>(LOCK_JOBS, [subscriptionId])
    if (locked.length > 0) await tx.run(DELETE_JOBS, [subscriptionId, locked.map(({ number }) => number)])
    return locked.length
  })
}

/** The combined result of several attempts at one receiver. */
interface HealthChange {
  readonly id: string
  /** The last success; later failures are in `failedAtMs`. */
  successAtMs: number | null
  /** The first failure since then. */
  failedAtMs: number | null
  disable: string | null
  disabledAtMs: number | null
  failingBeforeMs: number | null
}

/** Called before the jobs are settled, because the health of their receivers may disable a subscription. */
export async function lockForHealth(tx: Queries, health: readonly ReceiverHealth[]): Promise<void> {
  if (health.some(({ disable }) => disable !== null)) await tx.rows(LOCK_VERSION)
}

export async function noteHealth(tx: Queries, health: readonly ReceiverHealth[]): Promise<void> {
  if (health.length === 0) return
  const changes = [...sumHealth(health)]
  const disabling = idsToDisable(health)
  const values = [
    changes.map(({ id }) => id),
    changes.map(({ successAtMs }) => successAtMs !== null),
    changes.map(({ successAtMs }) => successAtMs),
    changes.map(({ failedAtMs }) => failedAtMs),
    changes.map(({ disable }) => disable),
  ]
  const locked = await tx.rows<{ id: string }>(LOCK_CHANGED, values)
  if (locked.length === 0) return
  await Promise.all([
    tx.run(NOTE_HEALTH, [
      ...values,
      changes.map(({ disabledAtMs }) => disabledAtMs),
      changes.map(({ failingBeforeMs }) => failingBeforeMs),
      locked.map(({ id }) => id),
    ]),
    // Also if none was disabled, because the worker has stopped and must read the subscription again.
    disabling.length > 0 ? tx.run(RAISE_VERSION, [disabling, true]) : 0,
  ])
}

/** For health that is outdated; a worker that disables its subscription has stopped and must read it again. */
export async function ignoreHealth(tx: Queries, health: readonly ReceiverHealth[]): Promise<void> {
  const disabling = idsToDisable(health)
  if (disabling.length > 0) await tx.run(RAISE_VERSION, [disabling, false])
}

function idsToDisable(health: readonly ReceiverHealth[]): string[] {
  return [
    ...new Set(health.filter(({ disable }) => disable !== null).map(({ subscriptionId }) => subscriptionId)),
  ]
}

function sumHealth(health: readonly ReceiverHealth[]): Iterable<HealthChange> {
  const changes = new Map<string, HealthChange>()
  for (const { subscriptionId: id, ok, atMs, disable, failingBeforeMs = null } of health) {
    const change = changes.get(id) ?? {
      id,
      successAtMs: null,
      failedAtMs: null,
      disable: null,
      disabledAtMs: null,
      failingBeforeMs: null,
    }
    changes.set(id, change)
    if (ok) {
      change.successAtMs = atMs
      change.failedAtMs = null
    } else change.failedAtMs ??= atMs
    // A disable without a condition takes precedence.
    const isFirst = change.disable === null || (change.failingBeforeMs !== null && failingBeforeMs === null)
    if (disable !== null && isFirst) {
      change.disable = storable(disable)
      change.disabledAtMs = atMs
      change.failingBeforeMs = failingBeforeMs
    }
  }
  return changes.values()
}

function valuesOf(subscription: SubscriptionRecord): unknown[] {
  return FIELDS.map(([field]) => {
    const value = subscription[field as keyof SubscriptionRecord]
    if (typeof value === 'string') return storable(value)
    return Array.isArray(value) ? JSON.stringify(value) : value
  })
}

function toSubscription(row: SubscriptionRow): SubscriptionRecord {
  return { ...row, kinds: JSON.parse(row.kinds), addresses: JSON.parse(row.addresses) }
}
