import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { changesSelection, hasValues } from '../jobs/has-values.ts'
import { changedIds, isTooFar, LISTED_CHANGES } from '../jobs/listed-changes.ts'
import { SUBSCRIPTION_COLUMNS } from '../jobs/subscription-columns.ts'
import {
  DELETE_ROWS,
  type JobsStore,
  type NewSubscription,
  type OnlyIf,
  type ReceiverHealth,
  type SubscriptionPageQuery,
  type SubscriptionPatch,
  type SubscriptionPlace,
  type SubscriptionRecord,
  type VersionRange,
} from '../jobs.ts'
import { oneStateOf } from './open.ts'
import { asRecord, type Row, recordOf } from './rows.ts'

export const SUBSCRIPTIONS_VERSION = 'subscriptions_version'
/** The last version that created or deleted a subscription or changed which events one wants. */
export const SELECTIONS_VERSION = 'selections_version'
/** The time of the last success is not written more often than this. */
const SUCCESS_STEP_MS = 1_000
const BEFORE_ALL: SubscriptionPlace = { createdAtMs: -1, id: '' }

const FIELDS = Object.entries(SUBSCRIPTION_COLUMNS)
  .map(([field, column]) => `${column} AS ${field}`)
  .join(', ')

export function subscriptionReaders(db: DatabaseSync) {
  const inOneState = oneStateOf(db)
  const byId = db.prepare(`SELECT ${FIELDS} FROM subscriptions WHERE id = ?`)
  const idsAfter = db.prepare('SELECT id FROM subscriptions WHERE id > ? ORDER BY id LIMIT ?')
  const places = db.prepare(
    `SELECT created_at AS createdAtMs, id FROM subscriptions WHERE account_id = ? AND (created_at, id) > (?, ?)
     AND active >= ? ORDER BY created_at, id LIMIT ?`,
  )
  const mark = db.prepare('SELECT value FROM marks WHERE name = ?')
  const changes = db.prepare(
    'SELECT version, id FROM subscription_changes WHERE version > ? AND version <= ?',
  )
  return {
    getSubscription: (id: string) => recordOf(byId.get(id), toSubscription),
    // In one state, because a page without those that were just deleted could be empty and look like the end.
    subscriptionPage: ({ afterId, limit, maxChars }: SubscriptionPageQuery): SubscriptionRecord[] =>
      inOneState(() => {
        const page: SubscriptionRecord[] = []
        let chars = 0
        for (const { id } of idsAfter.all(afterId, limit)) {
          const row = byId.get(id as string)
          chars += String(row?.addresses ?? '').length
          if (row === undefined || (page.length > 0 && chars > maxChars)) break
          page.push(toSubscription(row))
        }
        return page
      }),
    subscriptionPlaces: (query: Parameters<JobsStore['subscriptionPlaces']>[0]): SubscriptionPlace[] => {
      const { accountId, limit, activeOnly = false, after = BEFORE_ALL } = query
      const found = places.all(accountId, after.createdAtMs, after.id, activeOnly ? 1 : 0, limit)
      return found.map(asRecord<SubscriptionPlace>)
    },
    subscriptionsVersion: (): number => Number(mark.get(SUBSCRIPTIONS_VERSION)?.value ?? 0),
    subscriptionChanges: (range: VersionRange): string[] | undefined =>
      isTooFar(range)
        ? undefined
        : changedIds(
            changes.all(range.after, range.upTo).map(asRecord<{ version: number; id: string }>),
            range,
          ),
  }
}

export function subscriptionWriters(db: DatabaseSync) {
  const read = subscriptionReaders(db)
  const count = db.prepare('SELECT COUNT(*) AS n FROM subscriptions WHERE account_id = ?')
  const remove = db.prepare('DELETE FROM subscriptions WHERE id = ?')
  const removeJobs = db.prepare(
    `DELETE FROM jobs WHERE number IN (SELECT number FROM jobs WHERE subscription_id = ? LIMIT ${DELETE_ROWS})`,
  )
  const raise = db.prepare(
    'INSERT INTO marks VALUES (?, 1) ON CONFLICT DO UPDATE SET value = value + 1 RETURNING value',
  )
  const setMark = db.prepare(
    'INSERT INTO marks VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  )
  const listChange = db.prepare('INSERT INTO subscription_changes VALUES (?, ?)')
  const unlistChanges = db.prepare('DELETE FROM subscription_changes WHERE version <= ?')
  const succeeded = db.prepare(
    `UPDATE subscriptions SET failing_since = NULL, last_success_at = ?1
     WHERE id = ?2 AND (failing_since IS NOT NULL OR last_success_at IS NULL OR last_success_at < ?1 - ${SUCCESS_STEP_MS})`,
  )
  const failed = db.prepare(
    'UPDATE subscriptions SET failing_since = ? WHERE id = ? AND failing_since IS NULL',
  )
  const disable = db.prepare(
    `UPDATE subscriptions SET active = 0, disabled_reason = ?1, disabled_at = ?2
     WHERE id = ?3 AND active = 1 AND (?4 IS NULL OR failing_since <= ?4)`,
  )
  const changed = (id: string, isSelection = true) => {
    const version = Number(raise.get(SUBSCRIPTIONS_VERSION)?.value)
    if (isSelection) setMark.run(SELECTIONS_VERSION, version)
    listChange.run(version, id)
    unlistChanges.run(version - LISTED_CHANGES)
  }

  return {
    createSubscription(sub: NewSubscription, maxOfAccount: number): SubscriptionRecord | undefined {
      const before = read.getSubscription(sub.id)
      if (before !== undefined) return before
      if (Number(count.get(sub.accountId)?.n) >= maxOfAccount) return undefined
      const entries = Object.entries({ ...sub, active: true })
      const names = entries.map(([field]) => SUBSCRIPTION_COLUMNS[field as keyof SubscriptionRecord])
      const marks = names.map(() => '?')
      db.prepare(`INSERT INTO subscriptions (${names.join()}) VALUES (${marks.join()})`).run(
        ...entries.map(([, value]) => toColumn(value)),
      )
      changed(sub.id)
      return read.getSubscription(sub.id)
    },
    updateSubscription(
      id: string,
      patch: SubscriptionPatch,
      onlyIf: OnlyIf = {},
    ): SubscriptionRecord | undefined {
      const found = read.getSubscription(id)
      if (found === undefined || !hasValues(found, onlyIf)) return undefined
      if (hasValues(found, patch)) return found
      const entries = Object.entries(patch) as [keyof SubscriptionPatch, unknown][]
      const sets = entries.map(([name]) => `${SUBSCRIPTION_COLUMNS[name]} = ?`).join(', ')
      db.prepare(`UPDATE subscriptions SET ${sets} WHERE id = ?`).run(
        ...entries.map(([, value]) => toColumn(value)),
        id,
      )
      changed(id, changesSelection(found, patch))
      return read.getSubscription(id)
    },
    deleteSubscription(id: string): boolean {
      changed(id)
      return Number(remove.run(id).changes) > 0
    },
    /** Deletes some of the jobs and returns whether there may be more. */
    deleteJobs: (id: string): boolean => Number(removeJobs.run(id).changes) === DELETE_ROWS,
    noteHealth({ subscriptionId, ok, atMs, disable: reason, failingBeforeMs }: ReceiverHealth): void {
      if (ok) succeeded.run(atMs, subscriptionId)
      else failed.run(atMs, subscriptionId)
      if (reason === null) return
      disable.run(reason, atMs, subscriptionId, failingBeforeMs ?? null)
      // Also when it was not disabled, because its worker has stopped and must read it again.
      changed(subscriptionId)
    },
    /** For health that is outdated; a worker that disables its subscription has stopped here too. */
    ignoreHealth({ subscriptionId, disable: reason }: ReceiverHealth): void {
      if (reason !== null) changed(subscriptionId, false)
    },
  }
}

function toSubscription(row: Row): SubscriptionRecord {
  return {
    ...asRecord<SubscriptionRecord>(row),
    kinds: JSON.parse(String(row.kinds)),
    addresses: JSON.parse(String(row.addresses)),
    batch: row.batch === 1,
    active: row.active === 1,
  }
}

function toColumn(value: unknown): SQLInputValue {
  if (Array.isArray(value)) return JSON.stringify(value)
  if (typeof value === 'boolean') return value ? 1 : 0
  return value as SQLInputValue
}
