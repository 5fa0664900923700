import { deliveryNumber } from '../jobs/delivery-id.ts'
import { jobOf, type OutcomeRow, outcomeRow } from '../jobs/job-rows.ts'
import type { JobsStore } from '../jobs.ts'
import { type Database, type Queries, statement } from './database.ts'
import { historyMonths } from './jobs-history.ts'
import { deleteJobs, ignoreHealth, lockForHealth, noteHealth } from './jobs-subscriptions.ts'
import { storable } from './texts.ts'

/**
 * Claims and settles jobs. Any number of workers claim at once, and each takes jobs that no other worker is taking.
 *
 * To avoid deadlocks, locks are taken in this order: position of the planner, version of the subscriptions, jobs, texts
 * of events, subscriptions; each of them in key order.
 */
const EXPIRED = 'not delivered in time'
const PRUNE_ROWS = 5_000

const CLAIM = statement(
  'job_claim',
  // The stored length of a text is known without reading it.
  `WITH due AS (
     SELECT number, due_at, payload FROM jobs WHERE subscription_id = $1 AND due_at <= now_ms()
     ORDER BY due_at, number LIMIT $2 FOR UPDATE SKIP LOCKED),
   sized AS (
     SELECT d.number, d.due_at, octet_length(p.body) AS bytes,
       sum(octet_length(p.body)) OVER (ORDER BY d.due_at, d.number) AS total
     FROM due d JOIN job_payloads p ON p.id = d.payload),
   taken AS (SELECT number, due_at FROM sized WHERE $4::bigint IS NULL OR total - bytes < $4::bigint),
   token AS (SELECT next_number('job_claims') AS claim),
   claimed AS (
     UPDATE jobs j SET due_at = now_ms() + $3::bigint, claim = token.claim FROM taken, token
     WHERE j.number = taken.number RETURNING j.number, j.failures, j.payload, j.claim, taken.due_at)
   SELECT c.number, c.failures, c.claim, p.seq, p.event_id AS "eventId", p.kind, p.body
   FROM claimed c JOIN job_payloads p ON p.id = c.payload ORDER BY c.due_at, c.number`,
)
const LOCK = statement(
  'job_lock',
  'SELECT number FROM jobs WHERE number = ANY($1::bigint[]) ORDER BY number FOR UPDATE',
)
/** Moves jobs to the history and returns the texts that they no longer need. */
const FINISH = statement(
  'job_finish',
  `WITH n AS (
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[], $4::bigint[], $5::int[], $6::text[], $7::bigint[],
       $8::text[], $9::text[], $10::text[])
       AS n (number, state, attempts, at, status, error, duration_ms, request_head, response_head, response)),
   gone AS (
     DELETE FROM jobs j USING n WHERE j.number = n.number
     RETURNING j.number, j.subscription_id, j.payload, j.failures, j.created_at),
   history AS (
     INSERT INTO job_history (subscription_id, number, seq, event_id, kind, state, attempts, last_status, last_error,
       last_attempt_at, duration_ms, created_at, last_response, last_request_head, last_response_head)
     SELECT gone.subscription_id, gone.number, p.seq, p.event_id, p.kind, n.state, gone.failures + n.attempts, n.status,
       n.error, n.at, n.duration_ms, gone.created_at, n.response, n.request_head, n.response_head
     FROM gone JOIN n ON n.number = gone.number JOIN job_payloads p ON p.id = gone.payload)
   SELECT DISTINCT payload FROM gone`,
)
/** Only the holder of the claim may do this; after the claim expired, another worker may have claimed the job. */
const PUT_BACK = statement(
  'job_put_back',
  `UPDATE jobs j SET due_at = now_ms() + n.delay_ms, claim = 0, failures = failures + 1, last_status = n.status,
     last_error = n.error, last_attempt_at = n.at, duration_ms = n.duration_ms, last_response = n.response,
     last_request_head = n.request_head, last_response_head = n.response_head
   FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::int[], $6::text[], $7::bigint[], $8::text[],
     $9::text[], $10::text[])
     AS n (number, claim, delay_ms, at, status, error, duration_ms, request_head, response_head, response)
   WHERE j.number = n.number AND j.claim = n.claim`,
)
const RELEASE = statement(
  'job_release',
  `UPDATE jobs j SET due_at = now_ms(), claim = 0 FROM unnest($1::bigint[], $2::bigint[]) AS n (number, claim)
   WHERE j.number = n.number AND j.claim = n.claim`,
)
/**
 * A separate statement, so that the next one sees the jobs of all previous holders of the lock. Ordered as the texts are
 * written, because a replay stores an older event under a newer id.
 */
const LOCK_PAYLOADS = statement(
  'job_lock_payloads',
  'SELECT 1 FROM job_payloads WHERE id = ANY($1::bigint[]) ORDER BY seq, event_id COLLATE "C", id FOR UPDATE',
)
const DELETE_PAYLOADS = statement(
  'job_delete_payloads',
  `DELETE FROM job_payloads p WHERE id = ANY($1::bigint[])
     AND NOT EXISTS (SELECT FROM jobs j WHERE j.payload = p.id)`,
)
const RETRY_NOW = statement(
  'job_retry_now',
  `UPDATE jobs SET due_at = least(due_at, now_ms()), claim = CASE WHEN due_at > now_ms() THEN 0 ELSE claim END
   WHERE number = $1 AND subscription_id = $2`,
)
const PRUNE_HISTORY = statement(
  'job_prune_history',
  `DELETE FROM job_history WHERE (subscription_id, number) IN (
     SELECT subscription_id, number FROM job_history WHERE last_attempt_at < now_ms() - $1::bigint
     ORDER BY last_attempt_at LIMIT ${PRUNE_ROWS} FOR UPDATE SKIP LOCKED)`,
)
/** Takes one step per subscription with rows in the table, however many it has, and finds the deleted ones. */
const deletedIn = (table: string) =>
  `WITH RECURSIVE s (id) AS (
     (SELECT subscription_id FROM ${table} ORDER BY subscription_id LIMIT 1)
     UNION ALL
     SELECT (SELECT subscription_id FROM ${table} WHERE subscription_id > s.id ORDER BY subscription_id LIMIT 1)
     FROM s WHERE s.id IS NOT NULL),
   deleted AS (
     SELECT id FROM s WHERE id IS NOT NULL AND NOT EXISTS (SELECT FROM subscriptions WHERE subscriptions.id = s.id))`
const PRUNE_DELETED = statement(
  'job_prune_deleted',
  `DELETE FROM job_history WHERE (subscription_id, number) IN (
     ${deletedIn('job_history')}
     SELECT d.id, h.number FROM deleted d CROSS JOIN LATERAL (
       SELECT number FROM job_history WHERE subscription_id = d.id ORDER BY number LIMIT ${PRUNE_ROWS}) h
     LIMIT ${PRUNE_ROWS})`,
)
const DELETED_WITH_JOBS = statement(
  'job_deleted_subscription',
  `${deletedIn('jobs')} SELECT id FROM deleted LIMIT 1`,
)
/**
 * Numbers rise with time, so the oldest come first and the work is bounded. A job that is not due may be in progress.
 */
const STALE = statement(
  'job_stale',
  `SELECT number, now_ms() AS "nowMs"
   FROM (SELECT number, created_at, due_at FROM jobs ORDER BY number LIMIT ${PRUNE_ROWS}) oldest
   WHERE created_at < now_ms() - $1::bigint AND due_at <= now_ms() ORDER BY number`,
)
/** Leaves out jobs that a worker is claiming right now. */
const LOCK_STALE = statement(
  'job_lock_stale',
  `SELECT number FROM jobs WHERE number = ANY($1::bigint[]) AND due_at <= now_ms()
   ORDER BY number FOR UPDATE SKIP LOCKED`,
)
const UNUSED_PAYLOADS = statement(
  'job_unused_payloads',
  `SELECT id FROM job_payloads p WHERE NOT EXISTS (SELECT FROM jobs j WHERE j.payload = p.id) LIMIT ${PRUNE_ROWS}`,
)

interface ClaimedJobRow {
  readonly number: number
  readonly failures: number
  readonly claim: number
  readonly seq: number
  readonly eventId: string
  readonly kind: string
  readonly body: string
}

type Settling = Pick<JobsStore, 'claim' | 'settle' | 'retryNow' | 'prune'>

export function jobSettling(db: Database): Settling {
  const keepMonths = historyMonths(db)
  return {
    async claim({ subscriptionId, limit, claimMs, maxBytes = null }) {
      const values = [subscriptionId, limit, claimMs, maxBytes]
      const rows = await db.write((tx) => tx.rows<ClaimedJobRow>(CLAIM, values))
      return rows.map(({ number, failures, claim, seq, eventId, kind, body }) =>
        jobOf([number, failures, seq, eventId, kind, body], subscriptionId, claim),
      )
    },
    settle: (outcomes, health) =>
      db.write(async (tx) => {
        await lockForHealth(tx, health)
        const isOutdated = outcomes.length > 0 && !(await settleOutcomes(tx, outcomes.map(outcomeRow)))
        await (isOutdated ? ignoreHealth : noteHealth)(tx, health)
      }),
    async retryNow(subscriptionId, id) {
      const number = deliveryNumber(subscriptionId, id)
      return number !== undefined && (await db.run(RETRY_NOW, [number, subscriptionId])) > 0
    },
    async prune(maxAgeMs) {
      await keepMonths(maxAgeMs)
      const forgotten = (await db.run(PRUNE_HISTORY, [maxAgeMs])) + (await db.run(PRUNE_DELETED))
      const [deleted] = await db.rows<{ id: string }>(DELETED_WITH_JOBS)
      const jobs = deleted === undefined ? 0 : await deleteJobs(db, deleted.id)
      return forgotten + jobs + (await expire(db, maxAgeMs)) + (await deleteUnusedPayloads(db))
    },
  }
}

/** Whether any of them still applied. */
async function settleOutcomes(tx: Queries, rows: readonly OutcomeRow[]): Promise<boolean> {
  // The first outcome of a job counts, because after it the job is gone or its claim is over.
  const outcomes = [...new Map([...rows].reverse().map((row) => [row[NUMBER], row])).values()]
  const finished = outcomes.filter(([kind]) => kind === 'delivered' || kind === 'failed')
  const retried = outcomes.filter(([kind]) => kind === 'retry')
  const released = outcomes.filter(([kind]) => kind === 'release')
  const [, payloads, putBack, givenBack] = await Promise.all([
    tx.rows(LOCK, [column(outcomes, NUMBER)]),
    finished.length === 0
      ? []
      : tx.rows<{ payload: number }>(FINISH, [
          column(finished, NUMBER),
          finished.map(([kind]) => kind),
          finished.map(() => 1),
          ...attempts(finished),
        ]),
    retried.length === 0
      ? 0
      : tx.run(PUT_BACK, [
          column(retried, NUMBER),
          column(retried, CLAIM_TOKEN),
          column(retried, DELAY),
          ...attempts(retried),
        ]),
    released.length === 0 ? 0 : tx.run(RELEASE, [column(released, NUMBER), column(released, CLAIM_TOKEN)]),
  ])
  await deletePayloads(
    tx,
    payloads.map(({ payload }) => payload),
  )
  return payloads.length + putBack + givenBack > 0
}

/** Indexes into an OutcomeRow. */
const NUMBER = 1
const CLAIM_TOKEN = 2
const DELAY = 3

function column(rows: readonly OutcomeRow[], place: keyof OutcomeRow & number): unknown[] {
  return rows.map((row) => row[place])
}

/** The columns that describe the attempt, from `at` to `response`. */
function attempts(rows: readonly OutcomeRow[]): unknown[][] {
  return [
    rows.map((row) => row[4]),
    rows.map((row) => row[5]),
    rows.map((row) => storable(row[6])),
    rows.map((row) => row[7]),
    rows.map((row) => storable(row[8])),
    rows.map((row) => storable(row[9])),
    rows.map((row) => storable(row[10])),
  ]
}

async function deletePayloads(tx: Queries, ids: readonly number[]): Promise<number> {
  if (ids.length === 0) return 0
  const [, deleted] = await Promise.all([tx.rows(LOCK_PAYLOADS, [ids]), tx.run(DELETE_PAYLOADS, [ids])])
  return deleted
}

/** Fails jobs that are too old, so that those of disabled or paused subscriptions do not wait for ever. */
function expire(db: Database, maxAgeMs: number): Promise<number> {
  return db.write(async (tx) => {
    const found = await tx.rows<{ number: number; nowMs: number }>(STALE, [maxAgeMs])
    const [first] = found
    if (first === undefined) return 0
    const stale = await tx.rows<{ number: number }>(LOCK_STALE, [found.map(({ number }) => number)])
    if (stale.length === 0) return 0
    const nothing = stale.map(() => null)
    const payloads = await tx.rows<{ payload: number }>(FINISH, [
      stale.map(({ number }) => number),
      stale.map(() => 'failed'),
      stale.map(() => 0),
      stale.map(() => first.nowMs),
      nothing,
      stale.map(() => EXPIRED),
      nothing,
      nothing,
      nothing,
      nothing,
    ])
    await deletePayloads(
      tx,
      payloads.map(({ payload }) => payload),
    )
    return stale.length
  })
}

function deleteUnusedPayloads(db: Database): Promise<number> {
  return db.write(async (tx) => {
    const unused = await tx.rows<{ id: number }>(UNUSED_PAYLOADS)
    return deletePayloads(
      tx,
      unused.map(({ id }) => id),
    )
  })
}
