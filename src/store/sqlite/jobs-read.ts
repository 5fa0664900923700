import type { DatabaseSync } from 'node:sqlite'
import { deliveryId, deliveryNumber } from '../jobs/delivery-id.ts'
import type { Backlog, DeliveryRecord, DueSubscription, EventText, JobsStore } from '../jobs.ts'
import type { RestingWork } from '../rows/work-in-turns.ts'
import { subscriptionReaders } from './jobs-subscriptions.ts'
import { asRecord, numberOrNull, type Row } from './rows.ts'

/** Takes about half a millisecond. */
const COUNTED_AT_ONCE = 5_000

export function jobReaders(db: DatabaseSync) {
  const position = db.prepare("SELECT value FROM marks WHERE name = 'position'")
  // Takes one step per subscription that has jobs, however many each has.
  const due = db.prepare(
    `WITH RECURSIVE s(id) AS (
       SELECT MIN(subscription_id) FROM jobs
       UNION ALL
       SELECT (SELECT MIN(subscription_id) FROM jobs WHERE subscription_id > s.id) FROM s WHERE s.id IS NOT NULL
     )
     SELECT * FROM (
       SELECT id, ?1 - (SELECT MIN(due_at) FROM jobs WHERE subscription_id = s.id) AS overdueMs
       FROM s WHERE id IS NOT NULL
     ) WHERE overdueMs >= 0`,
  )
  const nextWithJobs = db.prepare('SELECT MIN(subscription_id) AS id FROM jobs WHERE subscription_id > ?')
  const afterSome = db.prepare(
    `SELECT number FROM jobs WHERE subscription_id = ? AND number > ? ORDER BY number LIMIT 1 OFFSET ${COUNTED_AT_ONCE - 1}`,
  )
  const rest = db.prepare('SELECT COUNT(*) AS n FROM jobs WHERE subscription_id = ? AND number > ?')
  const oldest = db.prepare('SELECT created_at AS at FROM jobs ORDER BY number LIMIT 1')
  const backlogOf = db.prepare(
    'SELECT COUNT(*) AS n FROM (SELECT 1 FROM jobs WHERE subscription_id = ? LIMIT ?)',
  )
  const backlogOfAccount = db.prepare(
    `SELECT COUNT(*) AS n FROM (
       SELECT 1 FROM subscriptions s JOIN jobs j ON j.subscription_id = s.id
       WHERE s.account_id = ? AND s.active = 1 LIMIT ?)`,
  )
  // Neither arm reads more rows than the page has.
  const deliveries = db.prepare(
    `SELECT * FROM (
       SELECT j.number, p.seq, p.event_id AS eventId, p.kind, 'pending' AS state, j.failures AS attempts,
         j.last_status AS lastStatus, j.last_error AS lastError, j.last_attempt_at AS lastAttemptAtMs,
         j.duration_ms AS durationMs, j.due_at AS nextAttemptAtMs, j.created_at AS createdAtMs,
         j.last_response AS lastResponse, j.last_request_head AS lastRequestHead,
         j.last_response_head AS lastResponseHead
       FROM jobs j JOIN payloads p ON p.id = j.payload WHERE j.subscription_id = ?1 AND j.number < ?2
       ORDER BY j.number DESC LIMIT ?3)
     UNION ALL
     SELECT * FROM (
       SELECT number, seq, event_id, kind, state, attempts, last_status, last_error, last_attempt_at, duration_ms,
         NULL, created_at, last_response, last_request_head, last_response_head
       FROM history WHERE subscription_id = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3)
     ORDER BY number DESC LIMIT ?3`,
  )
  const payload = db.prepare('SELECT kind, body FROM payloads WHERE seq = ? AND event_id = ?')
  const highestWaiting = db.prepare('SELECT MAX(seq) AS seq FROM payloads')
  return {
    ...subscriptionReaders(db),
    position: (): number | undefined => {
      const value = position.get()?.value
      return value === undefined ? undefined : Number(value)
    },
    dueAt: (nowMs: number): DueSubscription[] =>
      due.all(nowMs).map(({ id, overdueMs }) => ({ id: String(id), overdueMs: Number(overdueMs) })),
    backlog: ({ subscriptionId, accountId, limit }: Parameters<JobsStore['backlog']>[0]): Backlog => ({
      ofSubscription: Number(backlogOf.get(subscriptionId, limit)?.n ?? 0),
      ofAccount: Number(backlogOfAccount.get(accountId, limit)?.n ?? 0),
    }),
    /** There may be millions. What changes while it rests may be counted or not. */
    *countPending(): RestingWork<Awaited<ReturnType<JobsStore['pending']>>> {
      let count = 0
      const nextAfter = (id: string) => nextWithJobs.get(id)?.id as string | null
      for (let id = nextAfter(''); id !== null; id = nextAfter(id)) {
        let number = 0
        for (let next = afterSome.get(id, number); next !== undefined; next = afterSome.get(id, number)) {
          count += COUNTED_AT_ONCE
          number = Number(next.number)
          yield
        }
        count += Number(rest.get(id, number)?.n)
        yield
      }
      return { count, oldestAtMs: numberOrNull(oldest.get()?.at) }
    },
    deliveries: ({ subscriptionId, limit, before }: DeliveryQuery): DeliveryRecord[] =>
      deliveries
        .all(subscriptionId, before === undefined ? Number.MAX_SAFE_INTEGER : numberOf(before), limit)
        .map((row) => toDelivery(subscriptionId, row)),
    delivery: (subscriptionId: string, id: string): DeliveryRecord | undefined => {
      const number = deliveryNumber(subscriptionId, id)
      if (number === undefined) return undefined
      const [row] = deliveries.all(subscriptionId, number + 1, 1)
      return row !== undefined && row.number === number ? toDelivery(subscriptionId, row) : undefined
    },
    highestSeq: (): number =>
      Math.max(Number(position.get()?.value ?? 0), Number(highestWaiting.get()?.seq ?? 0)),
    eventText: ({ seq, eventId }: { seq: number; eventId: string }): EventText | undefined => {
      const row = payload.get(seq, eventId)
      return row && { seq, id: eventId, kind: String(row.kind), text: String(row.body) }
    },
  }
}

type DeliveryQuery = Parameters<JobsStore['deliveries']>[0]

const PLACE_BASE = 36

function placeOf(number: number): string {
  return number.toString(PLACE_BASE)
}

/** A text that is no place gives 0, before which there is nothing. */
function numberOf(place: string): number {
  return Number.parseInt(place, PLACE_BASE) || 0
}

function toDelivery(subscriptionId: string, row: Row): DeliveryRecord {
  const { number, ...delivery } = asRecord<Omit<DeliveryRecord, 'place' | 'id'> & { number: number }>(row)
  return { place: placeOf(number), id: deliveryId(subscriptionId, number), ...delivery }
}
