import { deliveryId } from '../jobs/delivery-id.ts'
import type { Enqueued, EventText, JobsStore, NewJob, PlannedJobs } from '../jobs.ts'
import { type Database, type Queries, statement } from './database.ts'

/** Turns events of the log into jobs. */
const POSITION = statement('job_position_read', 'SELECT log_id AS "logId", seq FROM job_position')
const LOCK_POSITION = statement(
  'job_position_lock',
  'SELECT log_id AS "logId", seq FROM job_position FOR UPDATE',
)
const PUT_POSITION = statement(
  'job_position_put',
  `INSERT INTO job_position (log_id, seq) VALUES ($1, $2)
   ON CONFLICT (only_row) DO UPDATE SET log_id = excluded.log_id, seq = excluded.seq`,
)
const CREATE_POSITION = statement(
  'job_position_create',
  'INSERT INTO job_position (log_id, seq) VALUES ($1, $2) ON CONFLICT DO NOTHING',
)
const MOVE_POSITION = statement('job_position_move', 'UPDATE job_position SET seq = $2 WHERE seq = $1')
/**
 * Makes the creation of a subscription wait; the new subscription then gets the events after these. If a version since
 * then is not listed, a server without the newest writes has taken over, and the plan may be based on what it lost.
 */
const SHARE_VERSION = statement(
  'subscription_version_share',
  `SELECT 1 FROM subscriptions_version WHERE $1::bigint BETWEEN selected AND value
     AND value - $1::bigint = (SELECT count(DISTINCT version) FROM subscription_changes WHERE version > $1::bigint)
   FOR SHARE`,
)
const HIGHEST = statement(
  'job_highest_seq',
  `SELECT greatest((SELECT seq FROM job_position), (SELECT max(seq) FROM job_payloads), 0) AS seq`,
)
/** Locks a text that is already stored, so that it is not deleted with its last job before the new one is written. */
const PUT_PAYLOADS = statement(
  'job_put_payloads',
  `INSERT INTO job_payloads AS p (seq, event_id, kind, body)
   SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS n (seq, event_id, kind, body)
   ORDER BY n.seq, n.event_id COLLATE "C"
   ON CONFLICT (seq, event_id, md5(body)) DO UPDATE SET kind = p.kind
   RETURNING id, seq`,
)
const WAITING = statement(
  'job_waiting',
  `SELECT min(number) AS number, payload, subscription_id AS "subscriptionId" FROM jobs
   WHERE (payload, subscription_id) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))
   GROUP BY payload, subscription_id`,
)
const INSERT_JOBS = statement(
  'job_insert',
  `INSERT INTO jobs (number, payload, subscription_id, created_at, due_at) OVERRIDING SYSTEM VALUE
   SELECT next_number('jobs_number_seq'), n.payload, n.subscription_id, now_ms(), now_ms()
   FROM (SELECT * FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS n (payload, subscription_id, place)
     ORDER BY place) n
   RETURNING number, payload, subscription_id AS "subscriptionId"`,
)

interface PositionRow {
  readonly logId: string
  readonly seq: number
}
/** A job that has no number yet. */
interface PlannedJob {
  readonly payload: number
  readonly subscriptionId: string
}
type NumberedJob = PlannedJob & { readonly number: number }

type Planning = Pick<JobsStore, 'position' | 'startAt' | 'highestSeq' | 'plan' | 'enqueue'>

export function jobPlanning(db: Database): Planning {
  return {
    position: async () => (await db.rows<PositionRow>(POSITION))[0]?.seq,
    startAt: ({ id, newestSeq }, before) =>
      db.write(async (tx) => {
        const [known] = await tx.rows<PositionRow>(LOCK_POSITION)
        if (known === undefined) {
          // There is no row to lock, so the faster process decides.
          const [, [first]] = await Promise.all([
            tx.run(CREATE_POSITION, [id, newestSeq]),
            tx.rows<PositionRow>(POSITION),
          ])
          return first?.seq ?? newestSeq
        }
        if (known.seq !== before) return known.seq
        const place = known.logId === id ? Math.min(known.seq, newestSeq) : 0
        await tx.run(PUT_POSITION, [id, place])
        return place
      }),
    highestSeq: async () => (await db.rows<{ seq: number }>(HIGHEST))[0]?.seq ?? 0,
    plan: (planned) => {
      const writing = db.write(async (tx) => {
        // Locks the position, so that another planner waits and then finds that it has moved.
        if ((await tx.run(MOVE_POSITION, [planned.after, planned.upTo])) === 0) return false
        const version = planned.subscriptions
        if (version !== undefined && (await tx.rows(SHARE_VERSION, [version])).length === 0)
          throw new SubscriptionsChanged()
        const jobs = await withPayloads(tx, planned)
        if (jobs.length > 0) await insertJobs(tx, jobs)
        return true
      })
      return writing.catch((error) => {
        if (error instanceof SubscriptionsChanged) return false
        throw error
      })
    },
    enqueue: (planned) =>
      db.write(async (tx) => {
        const jobs = await withPayloads(tx, planned)
        if (jobs.length === 0) return []
        const waiting = numbersOf(await tx.rows<NumberedJob>(WAITING, parametersOf(jobs)))
        const missing = [...new Map(jobs.map((job) => [nameOf(job), job])).values()].filter(
          (job) => !waiting.has(nameOf(job)),
        )
        const added = numbersOf(missing.length === 0 ? [] : await insertJobs(tx, missing))
        const isReported = new Set<string>()
        return jobs.map((job): Enqueued => {
          const name = nameOf(job)
          const number = added.get(name) ?? waiting.get(name)
          if (number === undefined) throw new Error('a job that was just written is missing')
          const isNew = added.has(name) && !isReported.has(name)
          isReported.add(name)
          return { deliveryId: deliveryId(job.subscriptionId, number), isNew }
        })
      }),
  }
}

/** Thrown to roll back the new position. */
class SubscriptionsChanged extends Error {}

async function withPayloads(
  tx: Queries,
  { events, jobs }: Pick<PlannedJobs, 'events' | 'jobs'>,
): Promise<PlannedJob[]> {
  const payloads = await putPayloads(tx, events)
  return jobs.map(({ subscriptionId, seq }: NewJob) => {
    const payload = payloads.get(seq)
    if (payload === undefined) throw new RangeError(`the event ${seq} of a job was not given`)
    return { payload, subscriptionId }
  })
}

/** Returns the id of each event's stored text, by the number of the event. */
async function putPayloads(tx: Queries, given: readonly EventText[]): Promise<Map<number, number>> {
  if (given.length === 0) return new Map()
  const events = [...new Map(given.map((event) => [event.seq, event])).values()]
  const rows = await tx.rows<{ id: number; seq: number }>(PUT_PAYLOADS, [
    events.map(({ seq }) => seq),
    events.map(({ id }) => id),
    events.map(({ kind }) => kind),
    events.map(({ text }) => text),
  ])
  return new Map(rows.map(({ id, seq }) => [seq, id]))
}

function insertJobs(tx: Queries, jobs: readonly PlannedJob[]): Promise<NumberedJob[]> {
  return tx.rows<NumberedJob>(INSERT_JOBS, parametersOf(jobs))
}

function parametersOf(jobs: readonly PlannedJob[]): unknown[] {
  return [jobs.map(({ payload }) => payload), jobs.map(({ subscriptionId }) => subscriptionId)]
}

function numbersOf(jobs: readonly NumberedJob[]): Map<string, number> {
  return new Map(jobs.map((job) => [nameOf(job), job.number]))
}

function nameOf({ payload, subscriptionId }: PlannedJob): string {
  return `${payload} ${subscriptionId}`
}
