import type { DatabaseSync } from 'node:sqlite'
import { type Clock, runEvery } from '../../kit/clock.ts'
import type { AccountsStore, ChangeWatch } from '../accounts.ts'
import type { BillingStore } from '../billing.ts'
import type { NoticesStore } from '../notices.ts'
import type { UptimeStore } from '../uptime.ts'
import type { UsersStore } from '../users.ts'
import {
  type AccountsOperations,
  accountsWrites,
  PRUNED_AT_ONCE,
  usageReaders,
} from './accounts-operations.ts'
import { accountReaders } from './accounts-records.ts'
import { ACCOUNTS_MIGRATIONS } from './accounts-schema.ts'
import { viewReaders } from './accounts-views.ts'
import { billingReaders } from './billing-records.ts'
import { noticeReaders } from './notices-records.ts'
import { openStoreFile, type StoreFileOptions } from './store-file.ts'
import { userReaders } from './users-records.ts'

/** How soon changes by other processes are noticed. */
const WATCH_INTERVAL_MS = 150

/** Accounts, users, billing and notices in one file. The command line and other roles may use it at the same time. */
export function openSqliteAccounts({
  clock,
  ...options
}: StoreFileOptions & { clock: Clock }): AccountsStore &
  UsersStore &
  BillingStore &
  NoticesStore &
  UptimeStore {
  const file = openStoreFile(options, {
    name: 'accounts',
    migrations: ACCOUNTS_MIGRATIONS,
    writes: accountsWrites,
    readerCache: 'accounts',
    writerCache: 'accounts',
  })
  const { database, writer } = file
  const isReadable = database.prepare('SELECT 1 FROM accounts LIMIT 1')
  return {
    ...file.functions({
      ...accountReaders(database),
      ...usageReaders(database),
      ...userReaders(database),
      ...billingReaders(database),
      ...viewReaders(database),
      ...noticeReaders(database),
    }),
    ...file.writes(ACCOUNTS_WRITES),
    settle: (batch) => writer.call('settle', [batch, clock.now()]),
    claimIdempotency: (claim) => writer.call('claimIdempotency', [claim, clock.now()]),
    extendIdempotency: (held, claimMs) => writer.call('extendIdempotency', [held, clock.now() + claimMs]),
    pruneSessions: () => writer.call('pruneSessions', [clock.now()]),
    takePasswordReset: (reset, audit) => writer.call('takePasswordReset', [reset, audit, clock.now()]),
    async pruneLedger(maxAgeMs) {
      const beforeMs = clock.now() - maxAgeMs
      let pruned = 0
      for (let step = PRUNED_AT_ONCE; step === PRUNED_AT_ONCE; pruned += step) {
        step = await writer.call('pruneLedger', [beforeMs])
      }
      return pruned
    },
    watch: async (watch) => watchChanges(database, watch, clock),
    async probe() {
      writer.probe()
      isReadable.get()
    },
    close: file.close,
  }
}

const ACCOUNTS_WRITES = [
  'createAccount',
  'setPlan',
  'setPaused',
  'setRemaining',
  'createKey',
  'revokeKey',
  'rotateKey',
  'finishIdempotency',
  'releaseIdempotency',
  'takeView',
  'createUser',
  'setPassword',
  'createSession',
  'deleteSession',
  'putInvitation',
  'takeInvitation',
  'putPasswordReset',
  'addAudit',
  'noteBillingEvent',
  'linkBilling',
  'putNotice',
  'deleteNotice',
  'markUp',
] as const satisfies (keyof AccountsOperations)[]

/** `data_version` costs a few microseconds and changes when any other connection has written. */
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
  return runEvery(clock, WATCH_INTERVAL_MS, () => {
    try {
      look()
    } catch {
      // Retried at the next interval. A file that was truncated or replaced stops the service, see watch-files.ts.
    }
  })
}
