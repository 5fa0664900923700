import type { DatabaseSync } from 'node:sqlite'
import { DAY_MS } from '../../core/time.ts'
import type {
  BudgetSpec,
  LeaseGrant,
  LeaseRequest,
  LedgerEntry,
  SettleBatch,
  UsageCount,
} from '../accounts.ts'

/** A lease that is not renewed ends after this time, so that a dead process gives its credits back. */
export const LEASE_TTL_MS = 3_000
/** A process that waits for credits says so again within this time. */
const WANT_TTL_MS = 2_000

/**
 * One transaction: write the charges that are new, add them to usage and budgets, then share what is left of
 * each asked budget. Credits used therefore always equal the sum of the usage rows.
 */
export function settler(db: DatabaseSync) {
  const insertEntry = db.prepare('INSERT OR IGNORE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  const addUsage = db.prepare(
    `INSERT INTO usage (account_id, day, environment, endpoint, key_id, requests, credits, row_count, failed,
      rate_limited) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, credits = credits + excluded.credits,
      row_count = row_count + excluded.row_count, failed = failed + excluded.failed,
      rate_limited = rate_limited + excluded.rate_limited`,
  )
  const spend = db.prepare(
    `INSERT INTO budgets (id, period_start, credit_limit, used) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET used = used + excluded.used`,
  )
  const seeKey = db.prepare(
    'UPDATE keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)',
  )
  const leases = leaseSharer(db)

  /** What is new in a batch is summed up first: its rows of usage and its budgets are few, its charges many. */
  const record = (entry: LedgerEntry, used: Map<string, Used>, spent: Map<string, Spent>) => {
    const { id, atMs, accountId, environment, keyId, endpoint, credits, rows } = entry
    const { changes } = insertEntry.run(id, atMs, accountId, environment, keyId, endpoint, credits, rows)
    if (changes === 0) return
    const dayNumber = Math.floor(atMs / DAY_MS)
    const usage = `${dayNumber} ${keyId} ${accountId} ${environment} ${endpoint}`
    const known = used.get(usage)
    if (known === undefined) used.set(usage, { entry, requests: 1, credits, rows })
    else {
      known.requests++
      known.credits += credits
      known.rows += rows
    }
    for (const budget of entry.budgets) {
      const name = `${budget.id} ${budget.periodStartMs}`
      const sum = spent.get(name) ?? { ...budget, credits: 0 }
      sum.credits += credits
      spent.set(name, sum)
    }
  }
  const count = (c: UsageCount) =>
    addUsage.run(
      c.accountId,
      dayOf(c.atMs),
      c.environment,
      c.endpoint,
      c.keyId,
      c.requests,
      0,
      0,
      c.failed,
      c.rateLimited,
    )

  return (batch: SettleBatch): LeaseGrant[] => {
    const spent = new Map<string, Spent>()
    for (const lease of batch.leases) leases.ensureBudget(lease)
    const used = new Map<string, Used>()
    for (const entry of batch.entries) record(entry, used, spent)
    for (const { entry, requests, credits, rows } of used.values()) {
      const { accountId, atMs, environment, endpoint, keyId } = entry
      addUsage.run(accountId, dayOf(atMs), environment, endpoint, keyId, requests, credits, rows, 0, 0)
    }
    for (const sum of spent.values()) spend.run(sum.id, sum.periodStartMs, sum.initialLimit, sum.credits)
    for (const usage of batch.counts) count(usage)
    for (const { keyId, atMs } of batch.keysSeen) seeKey.run(atMs, keyId, atMs)
    return batch.leases.map((lease) => leases.share(lease, batch.holder, batch.nowMs))
  }
}

type Spent = BudgetSpec & { credits: number }

/** Charges of one key for one endpoint on one day. */
interface Used {
  /** The first of them. */
  entry: LedgerEntry
  requests: number
  credits: number
  rows: number
}

function leaseSharer(db: DatabaseSync) {
  const createBudget = db.prepare(
    'INSERT OR IGNORE INTO budgets (id, period_start, credit_limit) VALUES (?, ?, ?)',
  )
  const readBudget = db.prepare('SELECT credit_limit, used FROM budgets WHERE id = ? AND period_start = ?')
  const heldByOthers = db.prepare(
    `SELECT COALESCE(SUM(amount), 0) AS held, COUNT(*) AS holders FROM credit_leases
     WHERE budget_id = ? AND period_start = ? AND holder <> ? AND expires_at > ?`,
  )
  const wantedByOthers = db.prepare(
    'SELECT 1 FROM credit_lease_wants WHERE budget_id = ? AND period_start = ? AND holder <> ? AND until > ? LIMIT 1',
  )
  const putLease = db.prepare('INSERT OR REPLACE INTO credit_leases VALUES (?, ?, ?, ?, ?)')
  const dropLease = db.prepare(
    'DELETE FROM credit_leases WHERE budget_id = ? AND period_start = ? AND holder = ?',
  )
  const putWant = db.prepare('INSERT OR REPLACE INTO credit_lease_wants VALUES (?, ?, ?, ?)')
  const dropWant = db.prepare(
    'DELETE FROM credit_lease_wants WHERE budget_id = ? AND period_start = ? AND holder = ?',
  )

  return {
    ensureBudget: (lease: LeaseRequest) =>
      createBudget.run(lease.id, lease.periodStartMs, lease.initialLimit),

    share(lease: LeaseRequest, holder: string, nowMs: number): LeaseGrant {
      const ref = [lease.id, lease.periodStartMs] as const
      const budget = readBudget.get(...ref)
      const others = heldByOthers.get(...ref, holder, nowMs)
      const wanted = wantedByOthers.get(...ref, holder, nowMs) !== undefined
      const limit = Number(budget?.credit_limit ?? 0)
      const used = Number(budget?.used ?? 0)
      const held = Number(others?.held ?? 0)
      const available = Math.max(0, limit - used - held)
      const granted = lease.release
        ? 0
        : Math.max(
            Math.min(lease.keep, available),
            shareOf(available, lease.need, Number(others?.holders ?? 0) > 0, wanted),
          )
      // An active process keeps its row even with nothing leased: the others then leave it a share.
      if (lease.release) dropLease.run(...ref, holder)
      else putLease.run(...ref, holder, granted, nowMs + LEASE_TTL_MS)
      if (granted < lease.need) putWant.run(...ref, holder, nowMs + WANT_TTL_MS)
      else dropWant.run(...ref, holder)
      return {
        id: lease.id,
        periodStartMs: lease.periodStartMs,
        limit,
        used,
        granted,
        heldByOthers: held,
        wantedByOthers: wanted,
      }
    },
  }
}

/**
 * A sole process takes everything. Several take half of what is free, so that both go on without asking for
 * each request. Where another one waits, only what a waiting charge needs is taken, and all or nothing: two
 * processes that each sit on a part that is too small would refuse what the budget could pay.
 */
function shareOf(available: number, need: number, shared: boolean, wantedByOthers: boolean): number {
  if (available < need) return 0
  if (wantedByOthers) return need
  return shared ? Math.max(need, Math.floor(available / 2)) : available
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10)
}
