import type { JobsStore } from '../jobs.ts'
import { writerThread } from './group-commit.ts'
import type { JobOperations } from './jobs-operations.ts'
import { jobReaders } from './jobs-read.ts'
import { JOBS_MIGRATIONS } from './jobs-schema.ts'
import { jobOf, outcomeRow, plannedRows } from './jobs-wire.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { asyncReads } from './port-calls.ts'

const THREAD = new URL('./jobs-thread.ts', import.meta.url)

/** The embedded engine: reads on a connection of this thread, every write in the writer thread. */
export function openSqliteJobs({ file }: { file: string }): JobsStore {
  const db = openDatabase({ file })
  migrate(db, 'jobs', JOBS_MIGRATIONS)
  const read = jobReaders(db)
  const writer = writerThread<JobOperations>(THREAD, { name: 'jobs writer', file })
  let closing: Promise<void> | undefined
  return {
    ...asyncReads(read, () => closing !== undefined),
    ...writer.functions([
      'createSubscription',
      'updateSubscription',
      'deleteSubscription',
      'startAt',
      'retryNow',
      'prune',
    ]),
    plan: (planned) => writer.call('plan', [planned.after, planned.upTo, plannedRows(planned)]),
    enqueue: (planned) => writer.call('enqueue', [plannedRows(planned)]),
    async claim(claim) {
      const rows = await writer.call('claim', [claim])
      return rows.map((row) => jobOf(row, claim.subscriptionId, claim.leaseUntilMs))
    },
    settle: (outcomes, health) => writer.call('settle', [outcomes.map(outcomeRow), health]),
    async probe() {
      writer.probe()
      read.position()
    },
    close() {
      closing ??= writer.close().then(() => db.close())
      return closing
    },
  }
}
