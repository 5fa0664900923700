import { deliveryId, deliveryNumber } from '../jobs/delivery-id.ts'
import type { DeliveryRecord, DueSubscription, EventText, JobsStore } from '../jobs.ts'
import { type Database, statement } from './database.ts'
import { storable } from './texts.ts'

/** Takes one step per subscription that has jobs, however many it has. */
const DUE = statement(
  'job_due',
  `WITH RECURSIVE s (id) AS (
     (SELECT subscription_id FROM jobs ORDER BY subscription_id LIMIT 1)
     UNION ALL
     SELECT (SELECT subscription_id FROM jobs WHERE subscription_id > s.id ORDER BY subscription_id LIMIT 1)
     FROM s WHERE s.id IS NOT NULL)
   SELECT * FROM (
     SELECT id, now_ms() - (SELECT min(due_at) FROM jobs WHERE subscription_id = s.id) AS "overdueMs"
     FROM s WHERE id IS NOT NULL) each_one
   WHERE "overdueMs" >= 0`,
)
const PENDING = statement(
  'job_pending',
  `SELECT count(*) AS count, (SELECT created_at FROM jobs ORDER BY number LIMIT 1) AS "oldestAtMs" FROM jobs`,
)
const BACKLOG = statement(
  'job_backlog',
  `SELECT (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE subscription_id = $1 LIMIT $3) one) AS "ofSubscription",
     (SELECT count(*) FROM (
       SELECT 1 FROM subscriptions s JOIN jobs j ON j.subscription_id = s.id
       WHERE s.account_id = $2 AND s.active LIMIT $3) every) AS "ofAccount"`,
)
/** Each arm reads at most one page. */
const DELIVERIES = statement(
  'job_deliveries',
  `(SELECT j.number, p.seq, p.event_id AS "eventId", p.kind, 'pending' AS state, j.failures AS attempts,
      j.last_status AS "lastStatus", j.last_error AS "lastError", j.last_attempt_at AS "lastAttemptAtMs",
      j.duration_ms AS "durationMs", j.due_at AS "nextAttemptAtMs", j.created_at AS "createdAtMs",
      j.last_response AS "lastResponse", j.last_request_head AS "lastRequestHead",
      j.last_response_head AS "lastResponseHead"
    FROM jobs j JOIN job_payloads p ON p.id = j.payload
    WHERE j.subscription_id = $1 AND j.number < $2::bigint ORDER BY j.number DESC LIMIT $3)
   UNION ALL
   (SELECT number, seq, event_id, kind, state, attempts, last_status, last_error, last_attempt_at, duration_ms, NULL,
      created_at, last_response, last_request_head, last_response_head
    FROM job_history WHERE subscription_id = $1 AND number < $2::bigint ORDER BY number DESC LIMIT $3)
   ORDER BY number DESC LIMIT $3`,
)
const EVENT_TEXT = statement(
  'job_event_text',
  'SELECT kind, body AS text FROM job_payloads WHERE seq = $1 AND event_id = $2 LIMIT 1',
)

type DeliveryRow = Omit<DeliveryRecord, 'place' | 'id'> & { readonly number: number }

type Reading = Pick<JobsStore, 'due' | 'pending' | 'backlog' | 'deliveries' | 'delivery' | 'eventText'>

export function jobReading(db: Database): Reading {
  return {
    due: () => db.rows<DueSubscription>(DUE),
    async pending() {
      const [row] = await db.rows<{ count: number; oldestAtMs: number | null }>(PENDING)
      return row ?? { count: 0, oldestAtMs: null }
    },
    async backlog({ subscriptionId, accountId, limit }) {
      const values = [subscriptionId, accountId, limit]
      const [row] = await db.rows<{ ofSubscription: number; ofAccount: number }>(BACKLOG, values)
      return row ?? { ofSubscription: 0, ofAccount: 0 }
    },
    async deliveries({ subscriptionId, limit, before }) {
      const below = before === undefined ? Number.MAX_SAFE_INTEGER : numberOf(before)
      const rows = await db.rows<DeliveryRow>(DELIVERIES, [storable(subscriptionId), below, limit])
      return rows.map((row) => toDelivery(subscriptionId, row))
    },
    async delivery(subscriptionId, id) {
      const number = deliveryNumber(subscriptionId, id)
      if (number === undefined) return undefined
      const [row] = await db.rows<DeliveryRow>(DELIVERIES, [storable(subscriptionId), number + 1, 1])
      return row?.number === number ? toDelivery(subscriptionId, row) : undefined
    },
    async eventText({ seq, eventId }) {
      const [row] = await db.rows<Pick<EventText, 'kind' | 'text'>>(EVENT_TEXT, [seq, storable(eventId)])
      return row && { seq, id: eventId, kind: row.kind, text: row.text }
    },
  }
}

const PLACE_BASE = 36

function placeOf(number: number): string {
  return number.toString(PLACE_BASE)
}

/** 0, before which there is nothing, for a text that is not a place. */
function numberOf(place: string): number {
  const number = Number.parseInt(place, PLACE_BASE)
  return Number.isSafeInteger(number) ? number : 0
}

function toDelivery(subscriptionId: string, { number, ...delivery }: DeliveryRow): DeliveryRecord {
  return { place: placeOf(number), id: deliveryId(subscriptionId, number), ...delivery }
}
