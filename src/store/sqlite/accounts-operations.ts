import type { DatabaseSync } from 'node:sqlite'
import type { BudgetRef, BudgetState, UsageQuery, UsageRow } from '../accounts.ts'
import { idempotencyWriters } from './accounts-idempotency.ts'
import { accountWriters } from './accounts-records.ts'
import { settler } from './accounts-settle.ts'
import { viewWriters } from './accounts-views.ts'
import { billingWriters } from './billing-records.ts'
import { userWriters } from './users-records.ts'

/** Charges wait while old ones are deleted, so that is done a little at a time. */
export const PRUNED_AT_ONCE = 2_000

/** Everything that writes accounts, users and billing. It runs inside a transaction, see group-commit.ts. */
export function accountsWrites(db: DatabaseSync) {
  const prune = db.prepare(
    `DELETE FROM ledger WHERE id IN (SELECT id FROM ledger WHERE at < ? LIMIT ${PRUNED_AT_ONCE})`,
  )
  const operations = {
    ...accountWriters(db),
    ...idempotencyWriters(db),
    ...userWriters(db),
    ...billingWriters(db),
    ...viewWriters(db),
    settle: settler(db),
    pruneLedger: (beforeMs: number) => Number(prune.run(beforeMs).changes),
  }
  return { operations }
}

export type AccountsOperations = ReturnType<typeof accountsWrites>['operations']

export function usageReaders(db: DatabaseSync) {
  const budget = db.prepare('SELECT credit_limit, used FROM budgets WHERE id = ? AND period_start = ?')
  const usage = db.prepare(
    `SELECT * FROM usage WHERE account_id = ? AND day >= ? AND day <= ? AND (? IS NULL OR environment = ?)
     ORDER BY day, environment, endpoint, key_id`,
  )
  return {
    budget: (ref: BudgetRef): BudgetState | undefined => {
      const row = budget.get(ref.id, ref.periodStartMs)
      return row && { limit: Number(row.credit_limit), used: Number(row.used) }
    },
    usage: (query: UsageQuery): UsageRow[] => {
      const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
      const environment = query.environment ?? null
      return usage
        .all(query.accountId, day(query.fromMs), day(query.toMs), environment, environment)
        .map((row) => ({
          day: String(row.day),
          environment: row.environment as UsageRow['environment'],
          endpoint: String(row.endpoint),
          keyId: String(row.key_id),
          requests: Number(row.requests),
          credits: Number(row.credits),
          rows: Number(row.row_count),
          failed: Number(row.failed),
          rateLimited: Number(row.rate_limited),
        }))
    },
  }
}
