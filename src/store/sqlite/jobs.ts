import type { Clock } from '../../kit/clock.ts'
import { deliveryNumber } from '../jobs/delivery-id.ts'
import { jobOf, outcomeRow, plannedRows } from '../jobs/job-rows.ts'
import type { JobsStore } from '../jobs.ts'
import { cacheBytesFor } from './cache-sizes.ts'
import { writerThread } from './group-commit.ts'
import type { JobOperations } from './jobs-operations.ts'
import { jobReaders } from './jobs-read.ts'
import { JOBS_MIGRATIONS } from './jobs-schema.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { asyncReads } from './port-calls.ts'

const THREAD = new URL('./jobs-thread.ts', import.meta.url)

/** The embedded engine: reads on a connection of this thread, every write in the writer thread. */
export function openSqliteJobs(options: { file: string; clock: Clock; cacheBytes?: number }): JobsStore {
  const { file, clock, cacheBytes = cacheBytesFor('jobs') } = options
  const db = openDatabase({ file, cacheBytes })
  migrate(db, 'jobs', JOBS_MIGRATIONS)
  const read = jobReaders(db)
  const writer = writerThread<JobOperations>(THREAD, { name: 'jobs writer', file, cacheBytes })
  let closing: Promise<void> | undefined
  return {
    ...asyncReads({ ...read, due: () => read.dueAt(clock.now()) }, () => closing !== undefined),
    ...writer.functions(['createSubscription', 'updateSubscription', 'deleteSubscription', 'startAt']),
    plan: (planned) => writer.call('plan', [planned.after, planned.upTo, plannedRows(planned, clock.now())]),
    enqueue: (planned) => writer.call('enqueue', [plannedRows(planned, clock.now())]),
    async claim(claim) {
      const nowMs = clock.now()
      const untilMs = nowMs + claim.claimMs
      const rows = await writer.call('claim', [claim, { nowMs, untilMs }])
      return rows.map((row) => jobOf(row, claim.subscriptionId, untilMs))
    },
    settle: (outcomes, health) => writer.call('settle', [outcomes.map(outcomeRow), health, clock.now()]),
    prune: (maxAgeMs) => writer.call('prune', [clock.now() - maxAgeMs]),
    async retryNow(subscriptionId, deliveryId) {
      const number = deliveryNumber(subscriptionId, deliveryId)
      return number !== undefined && (await writer.call('retryNow', [number, clock.now()]))
    },
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
