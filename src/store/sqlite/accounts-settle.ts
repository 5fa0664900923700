import type { DatabaseSync } from 'node:sqlite'
import {
  CREDIT_LEASE_MS,
  CREDIT_WAIT_MS,
  leaseCredits,
  MAX_CREDIT_LEASE_AHEAD_MS,
} from '../accounts/credit-lease.ts'
import { chargeSums, chargesText, usageDay } from '../accounts/sum-charges.ts'
import type { CreditLeaseGrant, CreditLeaseRequest, SettleBatch, UsageCount } from '../accounts.ts'

/**
 * Writes the charges that are new, adds them to usage and budgets, then shares out what is left of each requested
 * budget. Credits used therefore always equal the sum of the usage rows.
 */
export function settler(db: DatabaseSync) {
  const insertEntry = db.prepare('INSERT OR IGNORE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
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
  const leases = creditLeases(db)
  const count = ({ accountId, atMs, environment, endpoint, keyId, ...counts }: UsageCount) => {
    const { requests, failed, rateLimited } = counts
    addUsage.run(accountId, usageDay(atMs), environment, endpoint, keyId, requests, 0, 0, failed, rateLimited)
  }

  return (batch: SettleBatch, nowMs: number): CreditLeaseGrant[] => {
    for (const lease of batch.leases) leases.ensureBudget(lease)
    const sums = chargeSums()
    for (const entry of batch.entries) {
      const { id, atMs, accountId, environment, keyId, endpoint, credits, rows } = entry
      const values = [id, atMs, accountId, environment, keyId, endpoint, credits, rows, chargesText(entry)]
      const written = insertEntry.run(...values)
      if (Number(written.changes) > 0) sums.add(entry)
    }
    for (const { entry, requests, credits, rows } of sums.usage.values()) {
      const { accountId, atMs, environment, endpoint, keyId } = entry
      addUsage.run(accountId, usageDay(atMs), environment, endpoint, keyId, requests, credits, rows, 0, 0)
    }
    for (const sum of sums.budgets.values())
      spend.run(sum.id, sum.periodStartMs, sum.initialLimit, sum.credits)
    for (const usage of batch.counts) count(usage)
    for (const { keyId, atMs } of batch.keysSeen) seeKey.run(atMs, keyId, atMs)
    return batch.leases.map((lease) => leases.share(lease, batch.holder, nowMs))
  }
}

function creditLeases(db: DatabaseSync) {
  const createBudget = db.prepare(
    'INSERT OR IGNORE INTO budgets (id, period_start, credit_limit) VALUES (?, ?, ?)',
  )
  const readBudget = db.prepare('SELECT credit_limit, used FROM budgets WHERE id = ? AND period_start = ?')
  const endInTime = db.prepare(
    `UPDATE credit_leases SET expires_at = ?3 + ${MAX_CREDIT_LEASE_AHEAD_MS}
     WHERE budget_id = ?1 AND period_start = ?2 AND expires_at > ?3 + ${MAX_CREDIT_LEASE_AHEAD_MS}`,
  )
  const heldByOthers = db.prepare(
    `SELECT COALESCE(SUM(amount), 0) AS held, COUNT(*) AS holders FROM credit_leases
     WHERE budget_id = ? AND period_start = ? AND holder <> ? AND expires_at > ?`,
  )
  const wantedByOthers = db.prepare(
    `SELECT 1 FROM credit_lease_wants WHERE budget_id = ?1 AND period_start = ?2 AND holder <> ?3
       AND until > ?4 AND until <= ?4 + ${MAX_CREDIT_LEASE_AHEAD_MS} LIMIT 1`,
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
    ensureBudget: (lease: CreditLeaseRequest) =>
      createBudget.run(lease.id, lease.periodStartMs, lease.initialLimit),

    share(request: CreditLeaseRequest, holder: string, nowMs: number): CreditLeaseGrant {
      const ref = [request.id, request.periodStartMs] as const
      const budget = readBudget.get(...ref)
      endInTime.run(...ref, nowMs)
      const others = heldByOthers.get(...ref, holder, nowMs)
      const grant = leaseCredits(request, {
        limit: Number(budget?.credit_limit ?? 0),
        used: Number(budget?.used ?? 0),
        heldByOthers: Number(others?.held ?? 0),
        hasOtherHolders: Number(others?.holders ?? 0) > 0,
        wantedByOthers: wantedByOthers.get(...ref, holder, nowMs) !== undefined,
      })
      // An active process keeps its row even with nothing leased, so that the others leave it a share.
      if (request.release) dropLease.run(...ref, holder)
      else putLease.run(...ref, holder, grant.granted, nowMs + CREDIT_LEASE_MS)
      if (grant.granted < request.need) putWant.run(...ref, holder, nowMs + CREDIT_WAIT_MS)
      else dropWant.run(...ref, holder)
      return grant
    },
  }
}
