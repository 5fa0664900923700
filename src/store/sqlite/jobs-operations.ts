import type { DatabaseSync } from 'node:sqlite'
import { deliveryId } from '../jobs/delivery-id.ts'
import type { ClaimedRow, OutcomeRow, PlannedRows } from '../jobs/job-rows.ts'
import type { Enqueued, JobClaim, LogEnd, PlannedJobs, ReceiverHealth } from '../jobs.ts'
import { SELECTIONS_VERSION, SUBSCRIPTIONS_VERSION, subscriptionWriters } from './jobs-subscriptions.ts'

const POSITION = 'position'
const LOG = 'log'
const EXPIRED = 'not delivered in time'
const PRUNE_ROWS = 5_000
/** Index into a ClaimedRow. */
const CLAIMED_TEXT = 5
/** Takes one step per subscription that has rows in a table, however many each has. */
const ONE_PER_SUBSCRIPTION = (table: string) =>
  `WITH RECURSIVE s(id) AS (
     SELECT MIN(subscription_id) FROM ${table}
     UNION ALL
     SELECT (SELECT MIN(subscription_id) FROM ${table} WHERE subscription_id > s.id) FROM s WHERE s.id IS NOT NULL
   )`

/** All writes of jobs and subscriptions. They run inside a transaction that group-commit.ts begins and commits. */
export function jobWrites(db: DatabaseSync) {
  const { noteHealth, ignoreHealth, ...subscriptions } = subscriptionWriters(db)
  const readMark = db.prepare('SELECT value FROM marks WHERE name = ?')
  const writeMark = db.prepare(
    'INSERT INTO marks VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  )
  const readFact = db.prepare('SELECT value FROM facts WHERE name = ?')
  const writeFact = db.prepare(
    'INSERT INTO facts VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  )
  const findPayload = db.prepare('SELECT id FROM payloads WHERE seq = ? AND event_id = ? AND body = ?')
  const insertPayload = db.prepare('INSERT INTO payloads (seq, event_id, kind, body) VALUES (?, ?, ?, ?)')
  const insertJob = db.prepare(
    'INSERT INTO jobs (subscription_id, payload, created_at, due_at) VALUES (?, ?, ?, ?)',
  )
  const waitingFor = db.prepare('SELECT number FROM jobs WHERE payload = ? AND subscription_id = ? LIMIT 1')
  const due = db.prepare(
    `SELECT j.number, j.failures, p.seq, p.event_id, p.kind, p.body FROM jobs j JOIN payloads p ON p.id = j.payload
     WHERE j.subscription_id = ? AND j.due_at <= ? ORDER BY j.due_at, j.number LIMIT ?`,
  )
  due.setReturnArrays(true)
  const claimJob = db.prepare('UPDATE jobs SET due_at = ? WHERE number = ?')
  const hasten = db.prepare('UPDATE jobs SET due_at = min(due_at, ?) WHERE number = ?')
  const settling = settler(db)
  const write = ({ events, jobs, nowMs }: PlannedRows, add = addJob): Enqueued[] => {
    const payloads = new Map(events.map((event) => [event[0], payloadOf(event)]))
    return jobs.map(([subscriptionId, seq]) => {
      const payload = payloads.get(seq)
      if (payload === undefined) throw new RangeError(`the event ${seq} of a job was not given`)
      return add(subscriptionId, payload, nowMs)
    })
  }
  const addJob = (subscriptionId: string, payload: number, nowMs: number): Enqueued => {
    const number = Number(insertJob.run(subscriptionId, payload, nowMs, nowMs).lastInsertRowid)
    return { deliveryId: deliveryId(subscriptionId, number), isNew: true }
  }
  const addOnce: typeof addJob = (subscriptionId, payload, nowMs) => {
    const known = waitingFor.get(payload, subscriptionId)
    if (known === undefined) return addJob(subscriptionId, payload, nowMs)
    return { deliveryId: deliveryId(subscriptionId, Number(known.number)), isNew: false }
  }
  const payloadOf = (event: PlannedRows['events'][number]): number => {
    const [seq, id, , text] = event
    const found = findPayload.get(seq, id, text)?.id
    return Number(found ?? insertPayload.run(...event).lastInsertRowid)
  }
  const position = () => {
    const value = readMark.get(POSITION)?.value
    return value === undefined ? undefined : Number(value)
  }

  const mark = (name: string) => Number(readMark.get(name)?.value ?? 0)

  const operations = {
    ...subscriptions,
    startAt({ id, newestSeq }: LogEnd, before: number | undefined): number {
      const knownLog = readFact.get(LOG)?.value
      const known = position()
      if (known !== undefined && known !== before) return known
      const isOther = knownLog === undefined ? (known ?? 0) > newestSeq : knownLog !== id
      const place = isOther ? 0 : Math.min(known ?? newestSeq, newestSeq)
      writeFact.run(LOG, id)
      writeMark.run(POSITION, place)
      return place
    },
    plan(
      { after, upTo, subscriptions: version }: Pick<PlannedJobs, 'after' | 'upTo' | 'subscriptions'>,
      planned: PlannedRows,
    ): boolean {
      if (position() !== after) return false
      if (
        version !== undefined &&
        (version < mark(SELECTIONS_VERSION) || version > mark(SUBSCRIPTIONS_VERSION))
      )
        return false
      write(planned)
      writeMark.run(POSITION, upTo)
      return true
    },
    enqueue: (planned: PlannedRows): Enqueued[] => write(planned, addOnce),
    claim(
      { subscriptionId, limit, maxBytes = Number.POSITIVE_INFINITY }: JobClaim,
      { nowMs, untilMs }: { nowMs: number; untilMs: number },
    ): ClaimedRow[] {
      const rows: ClaimedRow[] = []
      let bytes = 0
      for (const row of due.iterate(subscriptionId, nowMs, limit) as Iterable<unknown>) {
        rows.push(row as ClaimedRow)
        bytes += Buffer.byteLength((row as ClaimedRow)[CLAIMED_TEXT])
        if (bytes >= maxBytes) break
      }
      for (const [number] of rows) claimJob.run(untilMs, number)
      return rows
    },
    settle(outcomes: readonly OutcomeRow[], health: readonly ReceiverHealth[], nowMs: number): void {
      const applied = outcomes.filter((outcome) => settling.settle(outcome, nowMs))
      const isOutdated = outcomes.length > 0 && applied.length === 0
      health.forEach(isOutdated ? ignoreHealth : noteHealth)
    },
    retryNow: (number: number, nowMs: number): boolean => Number(hasten.run(nowMs, number).changes) > 0,
    prune: settling.prune,
  }
  return { operations }
}

function settler(db: DatabaseSync) {
  const finish = db.prepare(
    `INSERT OR REPLACE INTO history
     SELECT j.number, j.subscription_id, p.seq, p.event_id, p.kind, ?2, j.failures + ?3, ?4, ?5, ?6, ?7, j.created_at, ?8, ?9, ?10
     FROM jobs j JOIN payloads p ON p.id = j.payload WHERE j.number = ?1`,
  )
  const remove = db.prepare('DELETE FROM jobs WHERE number = ? RETURNING payload')
  const removePayload = db.prepare(
    'DELETE FROM payloads WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM jobs WHERE payload = ?1)',
  )
  // Only while the claim holds: after it expired, another worker may have claimed the job and will settle it.
  const retry = db.prepare(
    `UPDATE jobs SET due_at = ?, failures = failures + 1, last_status = ?, last_error = ?, last_attempt_at = ?,
       duration_ms = ?, last_response = ?, last_request_head = ?, last_response_head = ? WHERE number = ? AND due_at = ?`,
  )
  const release = db.prepare('UPDATE jobs SET due_at = ? WHERE number = ? AND due_at = ?')
  // Numbers increase with time, so the oldest rows come first: no index by time is needed, and the work is bounded. A
  // job that is not due may be in progress.
  const stale = db.prepare(
    `SELECT number FROM (SELECT number, created_at, due_at FROM jobs ORDER BY number LIMIT ${PRUNE_ROWS})
     WHERE created_at < ? AND due_at <= ?`,
  )
  const oldHistory = db.prepare(
    `DELETE FROM history WHERE number IN (
       SELECT number FROM (SELECT number, last_attempt_at FROM history ORDER BY number LIMIT ${PRUNE_ROWS})
       WHERE last_attempt_at < ?)`,
  )
  const ofDeleted = ['history', 'jobs'].map((table) =>
    db.prepare(
      `DELETE FROM ${table} WHERE number IN (
         ${ONE_PER_SUBSCRIPTION(table)}
         SELECT t.number FROM s CROSS JOIN ${table} t
         WHERE t.subscription_id = s.id AND NOT EXISTS (SELECT 1 FROM subscriptions WHERE id = s.id) LIMIT ${PRUNE_ROWS})`,
    ),
  )
  const orphans = db.prepare(
    `DELETE FROM payloads WHERE id IN
       (SELECT id FROM payloads p WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.payload = p.id) LIMIT ${PRUNE_ROWS})`,
  )
  const drop = (number: number) => {
    const payload = remove.get(number)?.payload
    if (payload !== undefined) removePayload.run(payload)
  }

  return {
    /** Whether the outcome still applied. */
    settle([kind, number, claim, delayMs, ...tried]: OutcomeRow, nowMs: number): boolean {
      const [atMs, status, error, durationMs, requestHead, responseHead, response] = tried
      const kept = [status, error, atMs, durationMs, response, requestHead, responseHead] as const
      if (kind === 'release') return release.run(nowMs, number, claim).changes > 0
      if (kind === 'retry') return retry.run(nowMs + delayMs, ...kept, number, claim).changes > 0
      const isPending = finish.run(number, kind, 1, ...kept).changes > 0
      drop(number)
      return isPending
    },
    prune({ beforeMs, nowMs }: { beforeMs: number; nowMs: number }): number {
      let forgotten = Number(oldHistory.run(beforeMs).changes)
      for (const statement of ofDeleted) forgotten += Number(statement.run().changes)
      for (const row of stale.all(beforeMs, nowMs)) {
        const number = Number(row.number)
        finish.run(number, 'failed', 0, null, EXPIRED, nowMs, null, null, null, null)
        drop(number)
        forgotten++
      }
      return forgotten + Number(orphans.run().changes)
    },
  }
}
