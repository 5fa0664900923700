import type { BillingLink, BillingStore } from '../billing.ts'
import { type Database, statement } from './database.ts'
import { storable } from './texts.ts'

/** Longer than a billing provider keeps repeating an event. */
const EVENT_MEMORY_MS = 60 * 24 * 3_600_000

const LINK = `customer, account_id AS "accountId", last_event_at AS "lastEventAtMs", subscription, status,
  linked_at AS "linkedAtMs"`
const FIND = statement('billing_find', `SELECT ${LINK} FROM billing_links WHERE customer = $1`)
const ALL = statement('billing_all', `SELECT ${LINK} FROM billing_links ORDER BY customer`)
const PUT = statement(
  'billing_put',
  `INSERT INTO billing_links AS l (customer, account_id, last_event_at, subscription, status, linked_at)
   VALUES ($1, $2, $3, $4, $5, $6)
   ON CONFLICT (customer) DO UPDATE SET account_id = excluded.account_id, last_event_at = excluded.last_event_at,
     subscription = excluded.subscription, status = excluded.status, linked_at = excluded.linked_at
   WHERE excluded.last_event_at >= l.last_event_at`,
)
const HAS_EVENT = statement('billing_has_event', 'SELECT 1 FROM billing_events WHERE id = $1')
const NOTE_EVENT = statement(
  'billing_note_event',
  'INSERT INTO billing_events (id, at) VALUES ($1, $2) ON CONFLICT DO NOTHING',
)
const FORGET_EVENTS = statement('billing_forget_events', 'DELETE FROM billing_events WHERE at < $1')

export function billingRecords(db: Database): BillingStore {
  return {
    findBilling: async (customer) => (await db.rows<BillingLink>(FIND, [storable(customer)]))[0],
    listBilling: () => db.rows<BillingLink>(ALL),
    async linkBilling({ customer, accountId, lastEventAtMs, subscription, status, linkedAtMs }) {
      const values = [customer, accountId, lastEventAtMs, subscription, status, linkedAtMs]
      return (await db.run(PUT, values)) > 0
    },
    hasBillingEvent: async (id) => (await db.rows(HAS_EVENT, [storable(id)])).length > 0,
    noteBillingEvent: (id, atMs) =>
      db.write(async (tx) => {
        await Promise.all([
          tx.run(FORGET_EVENTS, [atMs - EVENT_MEMORY_MS]),
          tx.run(NOTE_EVENT, [storable(id), atMs]),
        ])
      }),
  }
}
