import { checkKeyLimits, type KeyCounts, keyCounts } from '../accounts/key-limits.ts'
import type { AccountRecord, AccountsStore, KeyLimits, KeyRecord, NewAccount, NewKey } from '../accounts.ts'
import type { AuditEntry } from '../audit-entry.ts'
import { insertAudit } from './audit-records.ts'
import { type Database, type Queries, statement } from './database.ts'
import { orConflict, storable } from './texts.ts'

/** Reads accounts and keys, and makes the administrative changes that other processes must notice. */
const ACCOUNT = `a.id, a.email, a.plan, a.billing_day AS "billingDay", a.paused_reason AS "pausedReason",
  a.created_at AS "createdAtMs"`
const KEY = `k.id, k.account_id AS "accountId", k.environment, k.name, k.hint, k.scopes,
  k.allowed_cidrs AS "allowedCidrs", k.credit_cap AS "creditCap", k.created_at AS "createdAtMs",
  k.last_used_at AS "lastUsedAtMs", k.expires_at AS "expiresAtMs", k.revoked_at AS "revokedAtMs",
  k.replaced_by AS "replacedBy", coalesce(k.first_key_id, k.id) AS "capBudgetId"`
const OWNER = `a.email AS "ownerEmail", a.plan AS "ownerPlan", a.billing_day AS "ownerBillingDay",
  a.paused_reason AS "ownerPausedReason", a.created_at AS "ownerCreatedAtMs"`

const ACCOUNT_BY_ID = statement('account_by_id', `SELECT ${ACCOUNT} FROM accounts a WHERE a.id = $1`)
const ALL_ACCOUNTS = statement('account_all', `SELECT ${ACCOUNT} FROM accounts a ORDER BY a.created_at, a.id`)
const KEY_BY_HASH = statement(
  'key_by_hash',
  `SELECT ${KEY}, ${OWNER} FROM keys k JOIN accounts a ON a.id = k.account_id WHERE k.hash = $1`,
)
const KEY_BY_ID = statement('key_by_id', `SELECT ${KEY} FROM keys k WHERE k.id = $1`)
const NEWEST_KEY = statement(
  'key_newest',
  `SELECT ${KEY} FROM keys k WHERE k.first_key_id = $1 AND k.replaced_by IS NULL`,
)
/**
 * During an upgrade, a process of a release that did not store rotation chains may rotate a key. The new key then has
 * no first key and is found only step by step. UNION rather than UNION ALL, so that a damaged chain that leads back to
 * itself ends as well.
 */
const LAST_REPLACEMENT = statement(
  'key_last_replacement',
  `WITH RECURSIVE chain (id) AS (
     SELECT $1::text
     UNION
     SELECT k.replaced_by FROM chain JOIN keys k ON k.id = chain.id WHERE k.replaced_by IS NOT NULL
   )
   SELECT ${KEY} FROM chain JOIN keys k ON k.id = chain.id WHERE k.replaced_by IS NULL`,
)
const ALL_KEYS = statement('key_all', `SELECT ${KEY} FROM keys k ORDER BY k.created_at, k.id`)
const KEYS_OF_ACCOUNT = statement(
  'key_of_account',
  `SELECT ${KEY} FROM keys k WHERE k.account_id = $1 ORDER BY k.created_at, k.id`,
)

const INSERT_ACCOUNT = statement(
  'account_insert',
  `INSERT INTO accounts AS a (id, email, plan, billing_day, created_at) VALUES ($1, $2, $3, $4, $5)
   RETURNING ${ACCOUNT}`,
)
const INSERT_KEY = statement(
  'key_insert',
  `INSERT INTO keys AS k (id, account_id, environment, name, hash, hint, scopes, allowed_cidrs, credit_cap, created_at,
     expires_at, first_key_id)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, (SELECT coalesce(first_key_id, id) FROM keys WHERE id = $12))
   RETURNING ${KEY}`,
)
const COUNT_KEYS = statement('key_count', `SELECT ${keyCounts('$2::bigint')} FROM keys WHERE account_id = $1`)
const NEXT_CHANGE = statement('account_next_change', 'UPDATE account_changes SET newest = newest + 1')
const THIS_CHANGE = 'change_seq = (SELECT newest FROM account_changes)'
const NOTE_CHANGE = statement('account_note_change', `UPDATE accounts SET ${THIS_CHANGE} WHERE id = $1`)
const NOTIFY = statement('account_notify', 'SELECT pg_notify($1, $2)')
const SET_PLAN = statement('account_set_plan', `UPDATE accounts SET plan = $2, ${THIS_CHANGE} WHERE id = $1`)
const SET_PAUSED = statement(
  'account_set_paused',
  `UPDATE accounts SET paused_reason = $2, ${THIS_CHANGE} WHERE id = $1`,
)
/**
 * Budgets are always locked in this order. A budget without any spending is written as well; otherwise a charge that is
 * still in flight under the previous plan would create it with the old limit.
 */
const SET_LIMITS = statement(
  'budget_set_limits',
  `INSERT INTO budgets (id, period_start, credit_limit)
   SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS n (id, period_start, credit_limit)
   ORDER BY n.id COLLATE "C", n.period_start
   ON CONFLICT (id, period_start) DO UPDATE SET credit_limit = excluded.credit_limit`,
)
const SET_REMAINING = statement(
  'budget_set_remaining',
  `INSERT INTO budgets AS b (id, period_start, credit_limit)
   SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS n (id, period_start, remaining)
   ORDER BY id, period_start
   ON CONFLICT (id, period_start) DO UPDATE SET credit_limit = b.used + excluded.credit_limit`,
)
const changeKey = (name: string, change: string, condition = '') =>
  statement(
    name,
    `WITH changed AS (UPDATE keys SET ${change} WHERE id = $1 AND revoked_at IS NULL ${condition} RETURNING account_id)
     UPDATE accounts SET ${THIS_CHANGE} FROM changed WHERE accounts.id = changed.account_id`,
  )
const REVOKE_KEY = changeKey('key_revoke', 'revoked_at = $2')
const REPLACE_KEY = changeKey('key_replace', 'expires_at = $2, replaced_by = $3', 'AND replaced_by IS NULL')

/** Sent on the channel when an account changes. */
const ACCOUNT_CHANGED = 'changed'

type AccountRecords = Pick<
  AccountsStore,
  | 'createAccount'
  | 'getAccount'
  | 'listAccounts'
  | 'setPlan'
  | 'setPaused'
  | 'setRemaining'
  | 'createKey'
  | 'findKey'
  | 'getKey'
  | 'newestKeyOf'
  | 'listKeys'
  | 'revokeKey'
  | 'rotateKey'
>

export function accountRecords(db: Database, channel: string): AccountRecords {
  /**
   * The counter is locked before anything else, so changes run one after another without deadlocks, and a process that
   * sees a number has seen all smaller ones.
   */
  const change = <R>(run: (tx: Queries) => Promise<R>): Promise<R> =>
    db.write(async (tx) => {
      const [, result] = await Promise.all([
        tx.run(NEXT_CHANGE),
        run(tx),
        tx.rows(NOTIFY, [channel, ACCOUNT_CHANGED]),
      ])
      return result
    })
  const changeOne = (
    [query, values]: Parameters<Queries['run']>,
    audit: AuditEntry | undefined,
  ): Promise<boolean> =>
    change(async (tx) => {
      if ((await tx.run(query, values)) === 0) return false
      await insertAudit(tx, audit)
      return true
    })

  const getKey = async (id: string): Promise<KeyRecord | undefined> => {
    const [row] = await db.rows<KeyRow>(KEY_BY_ID, [storable(id)])
    return row && toKey(row)
  }

  return {
    createAccount: (account, audit) =>
      db.write(async (tx) => {
        const made = await insertAccount(tx, account)
        await insertAudit(tx, audit)
        return made
      }),
    getAccount: async (id) => (await db.rows<AccountRecord>(ACCOUNT_BY_ID, [storable(id)]))[0],
    listAccounts: () => db.rows<AccountRecord>(ALL_ACCOUNTS),
    setPlan: (id, plan, limits, audit) =>
      change(async (tx) => {
        if ((await tx.run(SET_PLAN, [storable(id), plan])) === 0) return false
        const ids = limits.map((budget) => budget.id)
        const starts = limits.map((budget) => budget.periodStartMs)
        await Promise.all([
          tx.run(SET_LIMITS, [ids, starts, limits.map(({ limit }) => limit)]),
          insertAudit(tx, audit),
        ])
        return true
      }),
    setPaused: (id, reason, audit) => changeOne([SET_PAUSED, [storable(id), reason]], audit),
    setRemaining: (accountId, budgets, audit) =>
      change(async (tx) => {
        const ids = budgets.map(({ id }) => id)
        const starts = budgets.map(({ periodStartMs }) => periodStartMs)
        await Promise.all([
          tx.run(SET_REMAINING, [ids, starts, budgets.map(({ remaining }) => remaining)]),
          tx.run(NOTE_CHANGE, [accountId]),
          insertAudit(tx, audit),
        ])
      }),
    createKey: (key, limits, audit) => change((tx) => insertKey(tx, key, { limits, audit })),
    async findKey(hash) {
      const [row] = await db.rows<KeyRow & OwnerRow>(KEY_BY_HASH, [hash])
      if (row === undefined) return undefined
      const { ownerEmail, ownerPlan, ownerBillingDay, ownerPausedReason, ownerCreatedAtMs, ...key } = row
      const account = {
        id: key.accountId,
        email: ownerEmail,
        plan: ownerPlan,
        billingDay: ownerBillingDay,
        pausedReason: ownerPausedReason,
        createdAtMs: ownerCreatedAtMs,
      }
      return { key: toKey(key), account }
    },
    getKey,
    async newestKeyOf(id) {
      const key = await getKey(id)
      if (key === undefined || key.replacedBy === null) return key
      const [row] = await db.rows<KeyRow>(NEWEST_KEY, [key.capBudgetId])
      if (row !== undefined) return toKey(row)
      const [last] = await db.rows<KeyRow>(LAST_REPLACEMENT, [key.id])
      return last === undefined ? key : toKey(last)
    },
    async listKeys(accountId) {
      const rows =
        accountId === undefined
          ? await db.rows<KeyRow>(ALL_KEYS)
          : await db.rows<KeyRow>(KEYS_OF_ACCOUNT, [storable(accountId)])
      return rows.map(toKey)
    },
    revokeKey: (id, atMs, audit) => changeOne([REVOKE_KEY, [storable(id), atMs]], audit),
    rotateKey: (id, { key, limits, oldExpiresAtMs }, audit) =>
      change(async (tx) => {
        const replaced = await tx.run(REPLACE_KEY, [storable(id), oldExpiresAtMs, key.id])
        return replaced === 0 ? undefined : insertKey(tx, key, { limits, audit, replacedId: id })
      }),
  }
}

export async function insertAccount(tx: Queries, account: NewAccount): Promise<AccountRecord> {
  const { id, email, plan, billingDay, createdAtMs } = account
  const rows = await orConflict(
    `An account with the e-mail ${email} exists already.`,
    tx.rows<AccountRecord>(INSERT_ACCOUNT, [id, storable(email), plan, billingDay, createdAtMs]),
  )
  return written(rows)
}

/** Runs inside `change`, so no other key is created at the same time. */
async function insertKey(
  tx: Queries,
  key: NewKey,
  {
    limits,
    audit,
    replacedId,
  }: { limits: KeyLimits | undefined; audit: AuditEntry | undefined; replacedId?: string },
): Promise<KeyRecord> {
  if (limits !== undefined) {
    const [counts] = await tx.rows<KeyCounts>(COUNT_KEYS, [key.accountId, key.createdAtMs])
    checkKeyLimits(counts, limits)
  }
  const values = [
    key.id,
    key.accountId,
    key.environment,
    storable(key.name),
    key.hash,
    key.hint,
    key.scopes && JSON.stringify(key.scopes),
    key.allowedCidrs && JSON.stringify(key.allowedCidrs),
    key.creditCap,
    key.createdAtMs,
    key.expiresAtMs,
    replacedId ?? null,
  ]
  const [rows] = await Promise.all([
    tx.rows<KeyRow>(INSERT_KEY, values),
    tx.run(NOTE_CHANGE, [key.accountId]),
    insertAudit(tx, audit),
  ])
  return toKey(written(rows))
}

type KeyRow = Omit<KeyRecord, 'scopes' | 'allowedCidrs'> & {
  readonly scopes: string | null
  readonly allowedCidrs: string | null
}
interface OwnerRow {
  readonly ownerEmail: AccountRecord['email']
  readonly ownerPlan: AccountRecord['plan']
  readonly ownerBillingDay: AccountRecord['billingDay']
  readonly ownerPausedReason: AccountRecord['pausedReason']
  readonly ownerCreatedAtMs: AccountRecord['createdAtMs']
}

function toKey(row: KeyRow): KeyRecord {
  const list = (text: string | null) => (text === null ? null : (JSON.parse(text) as string[]))
  return { ...row, scopes: list(row.scopes), allowedCidrs: list(row.allowedCidrs) }
}

function written<R>([row]: readonly R[]): R {
  if (row === undefined) throw new Error('a row that was just written is missing')
  return row
}
