import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../kit/clock.ts'
import type { AccountsStore, ChangeWatch } from '../accounts.ts'
import type { BillingStore } from '../billing.ts'
import type { UsersStore } from '../users.ts'
import { type AccountsOperations, PRUNED_AT_ONCE, usageReaders } from './accounts-operations.ts'
import { accountReaders } from './accounts-records.ts'
import { ACCOUNTS_MIGRATIONS } from './accounts-schema.ts'
import { viewReaders } from './accounts-views.ts'
import { billingReaders } from './billing-records.ts'
import { cacheBytesFor } from './cache-sizes.ts'
import { writerThread } from './group-commit.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { asyncReads } from './port-calls.ts'
import { userReaders } from './users-records.ts'

/** How soon a change by another process is noticed. */
const WATCH_INTERVAL_MS = 150
const THREAD = new URL('./accounts-thread.ts', import.meta.url)

/**
 * The embedded engine. Reads are point look-ups on a connection of this thread; every write goes to the
 * writer thread. Other processes (the command line, another role) may use the same file at the same time.
 */
export function openSqliteAccounts(options: {
  file: string
  clock: Clock
  cacheBytes?: number
}): AccountsStore & UsersStore & BillingStore {
  const { file, clock, cacheBytes = cacheBytesFor('accounts') } = options
  const db = openDatabase({ file, cacheBytes })
  migrate(db, 'accounts', ACCOUNTS_MIGRATIONS)
  const writer = writerThread<AccountsOperations>(THREAD, { name: 'accounts writer', file, cacheBytes })
  let closing: Promise<void> | undefined
  const readers = {
    ...accountReaders(db),
    ...usageReaders(db),
    ...userReaders(db),
    ...billingReaders(db),
    ...viewReaders(db),
  }
  const isReadable = db.prepare('SELECT 1 FROM accounts LIMIT 1')
  return {
    ...asyncReads(readers, () => closing !== undefined),
    ...writer.functions(ACCOUNTS_WRITES),
    settle: (batch) => writer.call('settle', [batch, clock.now()]),
    claimIdempotency: (claim) => writer.call('claimIdempotency', [claim, clock.now()]),
    pruneSessions: () => writer.call('pruneSessions', [clock.now()]),
    takePasswordReset: (reset) => writer.call('takePasswordReset', [reset, clock.now()]),
    async pruneLedger(maxAgeMs) {
      const beforeMs = clock.now() - maxAgeMs
      let pruned = 0
      for (let step = PRUNED_AT_ONCE; step === PRUNED_AT_ONCE; pruned += step) {
        step = await writer.call('pruneLedger', [beforeMs])
      }
      return pruned
    },
    watch: (watch) => watchChanges(db, watch, clock),
    async probe() {
      writer.probe()
      isReadable.get()
    },
    close() {
      closing ??= writer.close().then(() => db.close())
      return closing
    },
  }
}

const ACCOUNTS_WRITES = [
  'createAccount',
  'setPlan',
  'setPaused',
  'setRemaining',
  'createKey',
  'revokeKey',
  'replaceKey',
  'finishIdempotency',
  'releaseIdempotency',
  'takeView',
  'createUser',
  'setPassword',
  'createSession',
  'deleteSession',
  'deleteSessionsOf',
  'putInvitation',
  'takeInvitation',
  'putPasswordReset',
  'addAudit',
  'noteBillingEvent',
  'linkBilling',
] as const satisfies (keyof AccountsOperations)[]

/** `data_version` costs a few microseconds and moves when any other connection has written. */
function watchChanges(db: DatabaseSync, watch: ChangeWatch, clock: Clock): () => void {
  const version = db.prepare('PRAGMA data_version')
  const newest = db.prepare('SELECT COALESCE(MAX(seq), 0) AS seq FROM changes')
  const since = db.prepare('SELECT seq, account_id FROM changes WHERE seq > ? ORDER BY seq')
  const wants = db.prepare('SELECT 1 FROM credit_lease_wants WHERE until > ? LIMIT 1')
  let seenVersion = version.get()?.data_version
  let seenSeq = Number(newest.get()?.seq ?? 0)
  const look = () => {
    const current = version.get()?.data_version
    if (current === seenVersion) return
    const rows = since.all(seenSeq)
    seenVersion = current
    seenSeq = Number(rows.at(-1)?.seq ?? seenSeq)
    if (rows.length > 0) watch.onAccounts([...new Set(rows.map((row) => String(row.account_id)))])
    if (wants.get(clock.now()) !== undefined) watch.onWanted()
  }
  const timer = setInterval(() => {
    try {
      look()
    } catch {
      // Read again at the next turn. A file that was cut or replaced ends the service, see kit/watch-files.
    }
  }, WATCH_INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}
