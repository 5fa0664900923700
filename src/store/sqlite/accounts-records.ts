import type { DatabaseSync } from 'node:sqlite'
import { checkKeyLimits, type KeyCounts, keyCounts } from '../accounts/key-limits.ts'
import type { AccountRecord, AccountsStore, KeyLimits, KeyRecord, NewAccount, NewKey } from '../accounts.ts'
import type { AuditEntry } from '../audit-entry.ts'
import { auditInserter } from './audit-records.ts'
import { asRecord, orConflict, type Row, recordOf } from './rows.ts'

/** Rows of accounts and keys: reads, and the administrative writes. Each write leaves a change mark. */
const ACCOUNT = `id, email, plan, billing_day AS billingDay, paused_reason AS pausedReason, created_at AS createdAtMs`
const KEY = `id, account_id AS accountId, environment, name, hint, scopes, allowed_cidrs AS allowedCidrs,
  credit_cap AS creditCap, created_at AS createdAtMs, last_used_at AS lastUsedAtMs, expires_at AS expiresAtMs,
  revoked_at AS revokedAtMs, replaced_by AS replacedBy, coalesce(first_key_id, id) AS capBudgetId`

export function accountReaders(db: DatabaseSync) {
  const byId = db.prepare(`SELECT ${ACCOUNT} FROM accounts WHERE id = ?`)
  const all = db.prepare(`SELECT ${ACCOUNT} FROM accounts ORDER BY created_at, id`)
  const keyByHash = db.prepare(`SELECT ${KEY} FROM keys WHERE hash = ?`)
  const keyById = db.prepare(`SELECT ${KEY} FROM keys WHERE id = ?`)
  const newestKey = db.prepare(`SELECT ${KEY} FROM keys WHERE first_key_id = ? AND replaced_by IS NULL`)
  const allKeys = db.prepare(`SELECT ${KEY} FROM keys ORDER BY created_at, id`)
  const accountKeys = db.prepare(`SELECT ${KEY} FROM keys WHERE account_id = ? ORDER BY created_at, id`)
  const getAccount = (id: string) => recordOf(byId.get(id), asRecord<AccountRecord>)
  const getKey = (id: string) => recordOf(keyById.get(id), toKey)
  return {
    getAccount,
    listAccounts: () => all.all().map(asRecord<AccountRecord>),
    findKey: (hash: string) => {
      const key = recordOf(keyByHash.get(hash), toKey)
      const account = key && getAccount(key.accountId)
      return key && account && { key, account }
    },
    getKey,
    newestKeyOf: (id: string) => {
      const key = getKey(id)
      if (key === undefined || key.replacedBy === null) return key
      return recordOf(newestKey.get(key.capBudgetId), toKey) ?? key
    },
    listKeys: (accountId?: string) =>
      (accountId === undefined ? allKeys.all() : accountKeys.all(accountId)).map(toKey),
  }
}

export function accountWriters(db: DatabaseSync) {
  const insertAccount = accountInserter(db)
  const insertAudit = auditInserter(db)
  const insertKey = db.prepare(
    `INSERT INTO keys (id, account_id, environment, name, hash, hint, scopes, allowed_cidrs, credit_cap,
      created_at, expires_at, first_key_id)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(first_key_id, id) FROM keys WHERE id = ?))`,
  )
  const countKeys = db.prepare(`SELECT ${keyCounts(':now')} FROM keys WHERE account_id = :account`)
  const setPlan = db.prepare('UPDATE accounts SET plan = ? WHERE id = ?')
  // Written even if nothing was spent yet; otherwise a charge in flight under the old plan would set the old limit.
  const setLimit = db.prepare(
    `INSERT INTO budgets (id, period_start, credit_limit) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET credit_limit = excluded.credit_limit`,
  )
  const setPaused = db.prepare('UPDATE accounts SET paused_reason = ? WHERE id = ?')
  const setRemaining = db.prepare(
    `INSERT INTO budgets (id, period_start, credit_limit) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET credit_limit = used + excluded.credit_limit`,
  )
  const revoke = db.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL')
  const replace = db.prepare(
    `UPDATE keys SET expires_at = ?, replaced_by = ?
     WHERE id = ? AND revoked_at IS NULL AND replaced_by IS NULL`,
  )
  const ownerOf = db.prepare('SELECT account_id FROM keys WHERE id = ?')
  const mark = db.prepare('INSERT INTO changes (account_id) VALUES (?)')
  const { getAccount, getKey } = accountReaders(db)

  const onKey = (id: string, change: () => number | bigint, audit: AuditEntry | undefined) => {
    const owner = ownerOf.get(id)
    if (owner === undefined || Number(change()) === 0) return false
    mark.run(String(owner.account_id))
    insertAudit(audit)
    return true
  }

  const makeKey = (key: NewKey, limits?: KeyLimits, replacedId?: string): KeyRecord => {
    if (limits !== undefined)
      checkKeyLimits(
        countKeys.get({ account: key.accountId, now: key.createdAtMs }) as KeyCounts | undefined,
        limits,
      )
    insertKey.run(
      key.id,
      key.accountId,
      key.environment,
      key.name,
      key.hash,
      key.hint,
      key.scopes && JSON.stringify(key.scopes),
      key.allowedCidrs && JSON.stringify(key.allowedCidrs),
      key.creditCap,
      key.createdAtMs,
      key.expiresAtMs,
      replacedId ?? null,
    )
    mark.run(key.accountId)
    return present(getKey(key.id))
  }

  return {
    createAccount: (account: NewAccount, audit?: AuditEntry): AccountRecord => {
      insertAccount(account)
      insertAudit(audit)
      return present(getAccount(account.id))
    },
    createKey: (...[key, limits, audit]: Parameters<AccountsStore['createKey']>) => {
      insertAudit(audit)
      return makeKey(key, limits)
    },
    setPlan: (...[id, plan, limits, audit]: Parameters<AccountsStore['setPlan']>) => {
      if (setPlan.run(plan, id).changes === 0) return false
      for (const budget of limits) setLimit.run(budget.id, budget.periodStartMs, budget.limit)
      mark.run(id)
      insertAudit(audit)
      return true
    },
    setPaused: (...[id, reason, audit]: Parameters<AccountsStore['setPaused']>) => {
      if (setPaused.run(reason, id).changes === 0) return false
      mark.run(id)
      insertAudit(audit)
      return true
    },
    setRemaining: (...[accountId, budgets, audit]: Parameters<AccountsStore['setRemaining']>) => {
      for (const { id, periodStartMs, remaining } of budgets) setRemaining.run(id, periodStartMs, remaining)
      mark.run(accountId)
      insertAudit(audit)
    },
    revokeKey: (id: string, atMs: number, audit?: AuditEntry) =>
      onKey(id, () => revoke.run(atMs, id).changes, audit),
    rotateKey: (...[id, { key, limits, oldExpiresAtMs }, audit]: Parameters<AccountsStore['rotateKey']>) =>
      onKey(id, () => replace.run(oldExpiresAtMs, key.id, id).changes, audit)
        ? makeKey(key, limits, id)
        : undefined,
  }
}

export function accountInserter(db: DatabaseSync) {
  const insert = db.prepare(
    'INSERT INTO accounts (id, email, plan, billing_day, created_at) VALUES (?, ?, ?, ?, ?)',
  )
  return ({ id, email, plan, billingDay, createdAtMs }: NewAccount) =>
    orConflict(`An account with the e-mail ${email} exists already.`, () =>
      insert.run(id, email, plan, billingDay, createdAtMs),
    )
}

function toKey(row: Row): KeyRecord {
  const list = (text: unknown) => (text === null ? null : JSON.parse(String(text)))
  return { ...asRecord<KeyRecord>(row), scopes: list(row.scopes), allowedCidrs: list(row.allowedCidrs) }
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a row that was just written is missing')
  return value
}
