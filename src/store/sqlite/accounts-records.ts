import type { DatabaseSync } from 'node:sqlite'
import {
  type AccountRecord,
  type AccountsStore,
  ConflictError,
  type KeyRecord,
  type NewAccount,
  type NewKey,
} from '../accounts.ts'

/** Rows of accounts and keys: reading, and the administrative writes. Each write leaves a change mark. */
type Row = Record<string, unknown>

const KEY_COLUMNS = `keys.id AS key_id, keys.account_id, keys.environment, keys.name, keys.hint, keys.scopes,
  keys.allowed_cidrs, keys.credit_cap, keys.created_at AS key_created_at, keys.last_used_at, keys.expires_at,
  keys.revoked_at, keys.replaced_by`

export function accountReaders(db: DatabaseSync) {
  const byId = db.prepare('SELECT * FROM accounts WHERE id = ?')
  const all = db.prepare('SELECT * FROM accounts ORDER BY created_at, id')
  const keyByHash = db.prepare(
    `SELECT ${KEY_COLUMNS}, accounts.* FROM keys JOIN accounts ON accounts.id = keys.account_id WHERE keys.hash = ?`,
  )
  const keyById = db.prepare(`SELECT ${KEY_COLUMNS} FROM keys WHERE id = ?`)
  const allKeys = db.prepare(`SELECT ${KEY_COLUMNS} FROM keys ORDER BY created_at, id`)
  const accountKeys = db.prepare(
    `SELECT ${KEY_COLUMNS} FROM keys WHERE account_id = ? ORDER BY created_at, id`,
  )
  return {
    getAccount: (id: string) => optional(byId.get(id), toAccount),
    listAccounts: () => all.all().map(toAccount),
    findKey: (hash: string) =>
      optional(keyByHash.get(hash), (row) => ({ key: toKey(row), account: toAccount(row) })),
    getKey: (id: string) => optional(keyById.get(id), toKey),
    listKeys: (accountId?: string) =>
      (accountId === undefined ? allKeys.all() : accountKeys.all(accountId)).map(toKey),
  }
}

export function accountWriters(db: DatabaseSync) {
  const insertAccount = db.prepare(
    'INSERT INTO accounts (id, email, plan, billing_day, created_at) VALUES (?, ?, ?, ?, ?)',
  )
  const insertKey = db.prepare(
    `INSERT INTO keys (id, account_id, environment, name, hash, hint, scopes, allowed_cidrs, credit_cap,
      created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const setPlan = db.prepare('UPDATE accounts SET plan = ? WHERE id = ?')
  const setLimit = db.prepare('UPDATE budgets SET credit_limit = ? WHERE id = ? AND period_start = ?')
  const setPaused = db.prepare('UPDATE accounts SET paused_reason = ? WHERE id = ?')
  const setRemaining = db.prepare(
    `INSERT INTO budgets (id, period_start, credit_limit) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET credit_limit = used + excluded.credit_limit`,
  )
  const revoke = db.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL')
  const replace = db.prepare(
    'UPDATE keys SET expires_at = ?, replaced_by = ? WHERE id = ? AND revoked_at IS NULL',
  )
  const ownerOf = db.prepare('SELECT account_id FROM keys WHERE id = ?')
  const mark = db.prepare('INSERT INTO changes (account_id) VALUES (?)')
  const { getAccount, getKey } = accountReaders(db)

  const onKey = (id: string, change: () => number | bigint) => {
    const owner = ownerOf.get(id)
    if (owner === undefined || Number(change()) === 0) return false
    mark.run(String(owner.account_id))
    return true
  }

  return {
    createAccount: (account: NewAccount): AccountRecord => {
      const { id, email, plan, billingDay, createdAtMs } = account
      orConflict(`An account with the e-mail ${email} exists already.`, () =>
        insertAccount.run(id, email, plan, billingDay, createdAtMs),
      )
      return present(getAccount(id))
    },
    createKey: (key: NewKey): KeyRecord => {
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
      )
      mark.run(key.accountId)
      return present(getKey(key.id))
    },
    setPlan: (...[id, plan, limits]: Parameters<AccountsStore['setPlan']>) => {
      if (setPlan.run(plan, id).changes === 0) return false
      for (const budget of limits) setLimit.run(budget.limit, budget.id, budget.periodStartMs)
      mark.run(id)
      return true
    },
    setPaused: (...[id, reason]: Parameters<AccountsStore['setPaused']>) => {
      if (setPaused.run(reason, id).changes === 0) return false
      mark.run(id)
      return true
    },
    setRemaining: (...[accountId, budgets]: Parameters<AccountsStore['setRemaining']>) => {
      for (const { id, periodStartMs, remaining } of budgets) setRemaining.run(id, periodStartMs, remaining)
      mark.run(accountId)
    },
    revokeKey: (id: string, atMs: number) => onKey(id, () => revoke.run(atMs, id).changes),
    replaceKey: (...[id, { keyId, oldExpiresAtMs }]: Parameters<AccountsStore['replaceKey']>) =>
      onKey(id, () => replace.run(oldExpiresAtMs, keyId, id).changes),
  }
}

function toAccount(row: Row): AccountRecord {
  return {
    id: String(row.id),
    email: String(row.email),
    plan: String(row.plan),
    billingDay: Number(row.billing_day),
    pausedReason: row.paused_reason as AccountRecord['pausedReason'],
    createdAtMs: Number(row.created_at),
  }
}

function toKey(row: Row): KeyRecord {
  return {
    id: String(row.key_id),
    accountId: String(row.account_id),
    environment: row.environment as KeyRecord['environment'],
    name: String(row.name),
    hint: String(row.hint),
    scopes: row.scopes === null ? null : JSON.parse(String(row.scopes)),
    allowedCidrs: row.allowed_cidrs === null ? null : JSON.parse(String(row.allowed_cidrs)),
    creditCap: row.credit_cap as number | null,
    createdAtMs: Number(row.key_created_at),
    lastUsedAtMs: row.last_used_at as number | null,
    expiresAtMs: row.expires_at as number | null,
    revokedAtMs: row.revoked_at as number | null,
    replacedBy: row.replaced_by as string | null,
  }
}

function optional<T>(row: Row | undefined, convert: (row: Row) => T): T | undefined {
  return row === undefined ? undefined : convert(row)
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a row that was just written is missing')
  return value
}

function orConflict(message: string, write: () => unknown): void {
  try {
    write()
  } catch (error) {
    if (error instanceof Error && /UNIQUE constraint/.test(error.message)) throw new ConflictError(message)
    throw error
  }
}
