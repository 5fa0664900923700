import type { DatabaseSync } from 'node:sqlite'
import { usageDay, usageEnd } from '../accounts/sum-charges.ts'
import type { BudgetRef, BudgetState, UsageQuery, UsageRow } from '../accounts.ts'
import { idempotencyWriters } from './accounts-idempotency.ts'
import { accountWriters } from './accounts-records.ts'
import { settler } from './accounts-settle.ts'
import { viewWriters } from './accounts-views.ts'
import { billingWriters } from './billing-records.ts'
import { coordinationWriters } from './coordination-records.ts'
import { leaseWriters } from './leases-records.ts'
import { noticeWriters } from './notices-records.ts'
import { asRecord, recordOf } from './rows.ts'
import { userWriters } from './users-records.ts'

/** Charges wait while old ones are deleted, so only a few are deleted at a time. */
export const PRUNED_AT_ONCE = 2_000

/** All writes to the accounts file. They run inside a transaction, see group-commit.ts. */
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
    ...noticeWriters(db),
    ...leaseWriters(db),
    ...coordinationWriters(db),
    settle: settler(db),
    pruneLedger: (beforeMs: number) => Number(prune.run(beforeMs).changes),
  }
  return { operations }
}

export type AccountsOperations = ReturnType<typeof accountsWrites>['operations']

/** SQLite reads a negative LIMIT as no limit. */
const NO_LIMIT = -1

export function usageReaders(db: DatabaseSync) {
  const budget = db.prepare(
    'SELECT credit_limit AS "limit", used FROM budgets WHERE id = ? AND period_start = ?',
  )
  const usage = db.prepare(
    `SELECT day, environment, endpoint, key_id AS keyId, requests, credits, row_count AS "rows", failed,
       rate_limited AS rateLimited FROM usage
     WHERE account_id = ? AND day >= ? AND (day, environment, endpoint, key_id) < (?, ?, ?, ?)
       AND (? IS NULL OR environment = ?)
     ORDER BY day DESC, environment DESC, endpoint DESC, key_id DESC LIMIT ?`,
  )
  return {
    budget: (ref: BudgetRef) => recordOf(budget.get(ref.id, ref.periodStartMs), asRecord<BudgetState>),
    usage: ({ accountId, fromMs, toMs, environment: only, newest = NO_LIMIT, before }: UsageQuery) =>
      usage
        .all(accountId, usageDay(fromMs), ...usageEnd(toMs, before), only ?? null, only ?? null, newest)
        .map(asRecord<UsageRow>)
        .reverse(),
  }
}
