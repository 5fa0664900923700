import type { JobsStore } from '../jobs.ts'
import type { JobOperations } from './jobs-operations.ts'
import { jobReaders } from './jobs-read.ts'
import { JOBS_MIGRATIONS } from './jobs-schema.ts'
import { jobOf, outcomeRow, plannedRows } from './jobs-wire.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { startOperations } from './operation-thread.ts'

/** The embedded engine: reads on a connection of this thread, every write in the writer thread. */
export function openSqliteJobs(options: { file: string }): JobsStore {
  const db = openDatabase({ file: options.file })
  migrate(db, 'jobs', JOBS_MIGRATIONS)
  const read = jobReaders(db)
  const writer = startOperations<JobOperations>(new URL('./jobs-thread.ts', import.meta.url), options.file)
  return {
    createSubscription: (...args) => writer.call('createSubscription', ...args),
    updateSubscription: (...args) => writer.call('updateSubscription', ...args),
    deleteSubscription: (...args) => writer.call('deleteSubscription', ...args),
    startAt: (...args) => writer.call('startAt', ...args),
    plan: (planned) => writer.call('plan', planned.after, planned.upTo, plannedRows(planned)),
    enqueue: (planned) => writer.call('enqueue', plannedRows(planned)),
    claim: async (claim) => {
      const rows = await writer.call('claim', claim)
      return rows.map((row) => jobOf(row, claim.subscriptionId, claim.leaseUntilMs))
    },
    settle: (outcomes, health) => writer.call('settle', outcomes.map(outcomeRow), health),
    retryNow: (...args) => writer.call('retryNow', ...args),
    prune: (...args) => writer.call('prune', ...args),

    getSubscription: async (id) => read.getSubscription(id),
    subscriptionIds: async () => read.subscriptionIds(),
    subscriptionPlaces: async (query) => read.subscriptionPlaces(query),
    subscriptionsVersion: async () => read.subscriptionsVersion(),
    position: async () => read.position(),
    highestSeq: async () => read.highestSeq(),
    waiting: async () => read.waiting(),
    pending: async () => read.pending(),
    backlog: async (query) => read.backlog(query),
    deliveries: async (query) => read.deliveries(query),
    delivery: async (subscriptionId, number) => read.delivery(subscriptionId, number),
    eventText: async (event) => read.eventText(event),

    probe: async () => {
      writer.probe()
      read.position()
    },
    close: async () => {
      await writer.close()
      db.close()
    },
  }
}
