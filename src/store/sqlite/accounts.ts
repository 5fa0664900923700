import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../kit/clock.ts'
import { type AccountsStore, type ChangeWatch, ConflictError } from '../accounts.ts'
import type { BillingStore } from '../billing.ts'
import type { UsersStore } from '../users.ts'
import type { AccountsOperations } from './accounts-operations.ts'
import { PRUNED_AT_ONCE, usageReaders } from './accounts-operations.ts'
import { accountReaders } from './accounts-records.ts'
import { ACCOUNTS_MIGRATIONS } from './accounts-schema.ts'
import type { OperationReply, OperationRequest } from './accounts-thread.ts'
import { viewReaders } from './accounts-views.ts'
import { billingReaders } from './billing-records.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { userReaders } from './users-records.ts'

/** How soon a change by another process is noticed. */
const WATCH_INTERVAL_MS = 150

/**
 * The embedded engine. Reads are point look-ups on a connection of this thread; every write goes to the
 * writer thread. Other processes (the command line, another role) may use the same file at the same time.
 */
export function openSqliteAccounts(options: {
  file: string
  clock: Clock
}): AccountsStore & UsersStore & BillingStore {
  const db = openDatabase({ file: options.file })
  migrate(db, 'accounts', ACCOUNTS_MIGRATIONS)
  const read = {
    ...accountReaders(db),
    ...usageReaders(db),
    ...userReaders(db),
    ...billingReaders(db),
    ...viewReaders(db),
  }
  const writer = startWriter(options.file)

  return {
    createAccount: (...args) => writer.call('createAccount', args),
    setPlan: (...args) => writer.call('setPlan', args),
    setPaused: (...args) => writer.call('setPaused', args),
    setRemaining: (...args) => writer.call('setRemaining', args),
    createKey: (...args) => writer.call('createKey', args),
    revokeKey: (...args) => writer.call('revokeKey', args),
    replaceKey: (...args) => writer.call('replaceKey', args),
    settle: (...args) => writer.call('settle', args),
    async pruneLedger(beforeMs) {
      let pruned = 0
      for (let step = PRUNED_AT_ONCE; step === PRUNED_AT_ONCE; pruned += step) {
        step = await writer.call('pruneLedger', [beforeMs])
      }
      return pruned
    },
    claimIdempotency: (...args) => writer.call('claimIdempotency', args),
    finishIdempotency: (...args) => writer.call('finishIdempotency', args),
    releaseIdempotency: (...args) => writer.call('releaseIdempotency', args),
    writeNoteOnce: (...args) => writer.call('writeNoteOnce', args),
    takeView: (...args) => writer.call('takeView', args),

    createUser: (...args) => writer.call('createUser', args),
    setPassword: (...args) => writer.call('setPassword', args),
    createSession: (...args) => writer.call('createSession', args),
    deleteSession: (...args) => writer.call('deleteSession', args),
    deleteSessionsOf: (...args) => writer.call('deleteSessionsOf', args),
    pruneSessions: (...args) => writer.call('pruneSessions', args),
    putInvitation: (...args) => writer.call('putInvitation', args),
    takeInvitation: (...args) => writer.call('takeInvitation', args),
    putPasswordReset: (...args) => writer.call('putPasswordReset', args),
    takePasswordReset: (...args) => writer.call('takePasswordReset', args),
    addAudit: (...args) => writer.call('addAudit', args),
    noteBillingEvent: (...args) => writer.call('noteBillingEvent', args),
    linkBilling: (...args) => writer.call('linkBilling', args),

    getAccount: async (id) => read.getAccount(id),
    listAccounts: async () => read.listAccounts(),
    findKey: async (hash) => read.findKey(hash),
    getKey: async (id) => read.getKey(id),
    listKeys: async (accountId) => read.listKeys(accountId),
    budget: async (ref) => read.budget(ref),
    usage: async (query) => read.usage(query),
    readNote: async (name) => read.readNote(name),
    viewsOf: async (...args) => read.viewsOf(...args),
    getUser: async (...args) => read.getUser(...args),
    findUser: async (...args) => read.findUser(...args),
    listUsers: async (...args) => read.listUsers(...args),
    findSession: async (...args) => read.findSession(...args),
    findInvitation: async (...args) => read.findInvitation(...args),
    findPasswordReset: async (...args) => read.findPasswordReset(...args),
    listAudit: async (...args) => read.listAudit(...args),
    findBilling: async (...args) => read.findBilling(...args),
    hasBillingEvent: async (...args) => read.hasBillingEvent(...args),
    listBilling: async (...args) => read.listBilling(...args),

    watch: (watch) => watchChanges(db, watch, options.clock),
    probe: async () => {
      writer.probe()
      db.prepare('SELECT 1 FROM accounts LIMIT 1').get()
    },
    close: async () => {
      await writer.close()
      db.close()
    },
  }
}

function startWriter(file: string) {
  const worker = new Worker(new URL('./accounts-thread.ts', import.meta.url), { workerData: { file } })
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  let nextId = 1
  let dead: Error | undefined
  const failAll = (error: Error) => {
    dead ??= error
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  worker.on('message', (reply: OperationReply) => {
    const caller = waiting.get(reply.id)
    waiting.delete(reply.id)
    if (waiting.size === 0) worker.unref()
    if (reply.ok) caller?.resolve(reply.value)
    else caller?.reject(reply.conflict ? new ConflictError(reply.message) : new Error(reply.message))
  })
  worker.on('error', (error) => failAll(error instanceof Error ? error : new Error(String(error))))
  const ended = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      failAll(new Error('the accounts writer has ended'))
      resolve()
    })
  })
  worker.unref()

  return {
    call<Name extends keyof AccountsOperations>(
      operation: Name,
      args: unknown[],
    ): Promise<ReturnType<AccountsOperations[Name]>> {
      if (dead) return Promise.reject(dead)
      const id = nextId++
      const request: OperationRequest = { id, operation, args }
      worker.ref()
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject })
        worker.postMessage(request)
      })
    },
    probe() {
      if (dead) throw dead
    },
    async close() {
      worker.ref()
      worker.postMessage('close')
      await ended
    },
  }
}

/** `data_version` tells for a few microseconds whether any other connection has written. */
function watchChanges(db: DatabaseSync, watch: ChangeWatch, clock: Clock): () => void {
  const version = db.prepare('PRAGMA data_version')
  const newest = db.prepare('SELECT COALESCE(MAX(seq), 0) AS seq FROM changes')
  const since = db.prepare('SELECT seq, account_id FROM changes WHERE seq > ? ORDER BY seq')
  const wants = db.prepare('SELECT 1 FROM lease_wants WHERE until > ? LIMIT 1')
  let seenVersion = version.get()?.data_version
  let seenSeq = Number(newest.get()?.seq ?? 0)
  const timer = setInterval(() => {
    const current = version.get()?.data_version
    if (current === seenVersion) return
    seenVersion = current
    const rows = since.all(seenSeq)
    seenSeq = Number(rows.at(-1)?.seq ?? seenSeq)
    if (rows.length > 0) watch.onAccounts([...new Set(rows.map((row) => String(row.account_id)))])
    if (wants.get(clock.now()) !== undefined) watch.onWanted()
  }, WATCH_INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}
