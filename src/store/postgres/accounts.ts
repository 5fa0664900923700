import { WritesRefusedError } from '../../core/store-unavailable.ts'
import type { Clock } from '../../kit/clock.ts'
import type { AccountsStore } from '../accounts.ts'
import type { BillingStore } from '../billing.ts'
import type { NoticesStore } from '../notices.ts'
import type { UptimeStore } from '../uptime.ts'
import type { UsersStore } from '../users.ts'
import { idempotencyEntries } from './accounts-idempotency.ts'
import { accountRecords } from './accounts-records.ts'
import { ACCOUNTS_MIGRATIONS } from './accounts-schema.ts'
import { settler } from './accounts-settle.ts'
import { usageRecords } from './accounts-usage.ts'
import { watchAccounts } from './accounts-watch.ts'
import type { PostgresAddress } from './address.ts'
import { billingRecords } from './billing-records.ts'
import { statement } from './database.ts'
import { noticeRecords } from './notices-records.ts'
import { openDatabase } from './open-database.ts'
import { userRecords } from './users-records.ts'

/** Charges wait while old entries are deleted, so they are deleted in small batches. */
const PRUNED_AT_ONCE = 2_000
/** Leases and waits of dead processes are deleted this long after they expire. */
const DEAD_HOLDER_MS = 24 * 3_600_000

const STATE = statement(
  'account_state',
  `SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly", EXISTS (SELECT FROM accounts)`,
)
const PRUNE_LEDGER = statement(
  'ledger_prune',
  `DELETE FROM ledger WHERE id IN
     (SELECT id FROM ledger WHERE at < now_ms() - $1::bigint ORDER BY at LIMIT ${PRUNED_AT_ONCE}
      FOR UPDATE SKIP LOCKED)`,
)
const PRUNE_LEASES = statement(
  'lease_prune',
  `WITH leases AS (DELETE FROM credit_leases WHERE expires_at < now_ms() - ${DEAD_HOLDER_MS})
   DELETE FROM credit_lease_wants WHERE until < now_ms() - ${DEAD_HOLDER_MS}`,
)

export function openPostgresAccounts({
  address,
  clock,
}: {
  address: PostgresAddress
  clock: Clock
}): AccountsStore & UsersStore & BillingStore & NoticesStore & UptimeStore {
  const db = openDatabase({
    address,
    schema: address.schema,
    label: 'accounts',
    migrations: ACCOUNTS_MIGRATIONS,
    clock,
  })
  const channel = `${address.schema}_accounts`
  const { pruneIdempotency, ...idempotency } = idempotencyEntries(db)
  const settle = settler(db, channel)
  const holders = new Set<string>()
  const watches = new Set<() => Promise<void>>()
  return {
    ...accountRecords(db, channel),
    ...usageRecords(db),
    ...idempotency,
    ...userRecords(db),
    ...billingRecords(db),
    ...noticeRecords(db),
    settle(batch) {
      holders.add(batch.holder)
      return settle(batch)
    },
    async pruneLedger(maxAgeMs) {
      let pruned = 0
      for (let step = PRUNED_AT_ONCE; step === PRUNED_AT_ONCE; pruned += step) {
        step = await db.run(PRUNE_LEDGER, [maxAgeMs])
      }
      await db.run(PRUNE_LEASES)
      await pruneIdempotency()
      return pruned
    },
    async watch(watch) {
      const isOwn = (holder: string) => holders.has(holder)
      const end = await watchAccounts(db, watch, { address, clock, channel, isOwn })
      watches.add(end)
      return () => {
        watches.delete(end)
        end().catch(() => {})
      }
    },
    async probe() {
      const [state] = await db.rows<{ isReadOnly: boolean }>(STATE)
      if (state?.isReadOnly) throw new WritesRefusedError('PostgreSQL accepts no writes now.')
      db.checkWrites()
    },
    async close() {
      await Promise.all([...watches].map((end) => end()))
      await db.close()
    },
  }
}
