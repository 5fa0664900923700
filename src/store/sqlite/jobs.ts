import type { Clock } from '../../kit/clock.ts'
import { deliveryNumber } from '../jobs/delivery-id.ts'
import { jobOf, outcomeRow, plannedRows } from '../jobs/job-rows.ts'
import { type JobsStore, MAX_DELETE_STEPS } from '../jobs.ts'
import { workInTurns } from '../rows/work-in-turns.ts'
import { jobWrites } from './jobs-operations.ts'
import { jobReaders } from './jobs-read.ts'
import { JOBS_MIGRATIONS } from './jobs-schema.ts'
import { openStoreFile, type StoreFileOptions } from './store-file.ts'

/** How long a turn of this thread counts. */
const HOLD_MS = 1

export function openSqliteJobs({ clock, ...options }: StoreFileOptions & { clock: Clock }): JobsStore {
  const { database, writer, functions, untilClosed, writes, close } = openStoreFile(options, {
    name: 'jobs',
    migrations: JOBS_MIGRATIONS,
    writes: jobWrites,
    readerCache: 'jobs',
    writerCache: 'jobs',
  })
  const read = jobReaders(database)
  return {
    ...functions({
      ...read,
      due: () => read.dueAt(clock.now()),
      pending: () => workInTurns(untilClosed(read.countPending()), HOLD_MS),
    }),
    ...writes(['createSubscription', 'updateSubscription', 'startAt']),
    plan: ({ after, upTo, subscriptions, ...planned }) =>
      writer.call('plan', [
        { after, upTo, ...(subscriptions === undefined ? {} : { subscriptions }) },
        plannedRows(planned, clock.now()),
      ]),
    enqueue: (planned) => writer.call('enqueue', [plannedRows(planned, clock.now())]),
    async claim(claim) {
      const nowMs = clock.now()
      const untilMs = nowMs + claim.claimMs
      const rows = await writer.call('claim', [claim, { nowMs, untilMs }])
      return rows.map((row) => jobOf(row, claim.subscriptionId, untilMs))
    },
    settle: (outcomes, health) => writer.call('settle', [outcomes.map(outcomeRow), health, clock.now()]),
    async deleteSubscription(id) {
      const isDeleted = await writer.call('deleteSubscription', [id])
      // Deleted in steps, so that others can write in between. `prune` deletes the rest and the history, also after an
      // error here, because the subscription itself is already deleted.
      const deleteSome = () => writer.call('deleteJobs', [id]).catch(() => false)
      for (let step = 0; step < MAX_DELETE_STEPS; step++) if (!(await deleteSome())) break
      return isDeleted
    },
    prune(maxAgeMs) {
      const nowMs = clock.now()
      return writer.call('prune', [{ beforeMs: nowMs - maxAgeMs, nowMs }])
    },
    async retryNow(subscriptionId, deliveryId) {
      const number = deliveryNumber(subscriptionId, deliveryId)
      return number !== undefined && (await writer.call('retryNow', [number, clock.now()]))
    },
    async probe() {
      writer.probe()
      read.position()
    },
    close,
  }
}
