import { usageDay, usageEnd } from '../accounts/sum-charges.ts'
import type { AccountsStore, BudgetState, UsageRow } from '../accounts.ts'
import { type Database, statement } from './database.ts'

/** Spent budgets, usage by day, and the daily allowance of dashboard views. */
const BUDGET = statement(
  'budget_read',
  'SELECT credit_limit AS "limit", used FROM budgets WHERE id = $1 AND period_start = $2',
)
const USAGE = statement(
  'usage_read',
  `SELECT day, environment, endpoint, key_id AS "keyId", requests, credits, row_count AS "rows", failed,
     rate_limited AS "rateLimited" FROM usage
   WHERE account_id = $1 AND day >= $2 AND (day, environment, endpoint, key_id) < ($3, $4, $5, $6)
     AND ($7::text IS NULL OR environment = $7)
   ORDER BY day DESC, environment DESC, endpoint DESC, key_id DESC LIMIT $8::bigint`,
)
const VIEWS = statement('views_read', 'SELECT used FROM view_allowance WHERE account_id = $1 AND day = $2')
/** One row per account, which restarts from 0 every day. Returns no row if the view would exceed the limit. */
const TAKE_VIEW = statement(
  'views_take',
  `INSERT INTO view_allowance AS v (account_id, day, used) SELECT $1, $2, $3::bigint WHERE $3::bigint <= $4::bigint
   ON CONFLICT (account_id) DO UPDATE
     SET day = excluded.day, used = excluded.used + CASE WHEN v.day = excluded.day THEN v.used ELSE 0 END
     WHERE excluded.used + CASE WHEN v.day = excluded.day THEN v.used ELSE 0 END <= $4::bigint
   RETURNING used`,
)

export function usageRecords(db: Database): Pick<AccountsStore, 'budget' | 'usage' | 'viewsOf' | 'takeView'> {
  const viewsOf = async (accountId: string, day: string) =>
    (await db.rows<{ used: number }>(VIEWS, [accountId, day]))[0]?.used ?? 0
  return {
    budget: async ({ id, periodStartMs }) => (await db.rows<BudgetState>(BUDGET, [id, periodStartMs]))[0],
    usage: async ({ accountId, fromMs, toMs, environment = null, newest = null, before }) => {
      const range = [usageDay(fromMs), ...usageEnd(toMs, before)]
      return (await db.rows<UsageRow>(USAGE, [accountId, ...range, environment, newest])).toReversed()
    },
    viewsOf,
    async takeView({ accountId, day, credits, limit }) {
      const [taken] = await db.write((tx) =>
        tx.rows<{ used: number }>(TAKE_VIEW, [accountId, day, credits, limit]),
      )
      if (taken !== undefined) return { taken: true, used: taken.used }
      return { taken: false, used: await viewsOf(accountId, day) }
    },
  }
}
