import type { DatabaseSync } from 'node:sqlite'
import type { BillingLink } from '../billing.ts'
import { asRecord, recordOf } from './rows.ts'

/** Event ids are kept for longer than a provider keeps repeating an event. */
const EVENT_MEMORY_MS = 60 * 24 * 3_600_000

const LINK = `customer, account_id AS accountId, last_event_at AS lastEventAtMs, subscription, status,
  linked_at AS linkedAtMs`

export function billingReaders(db: DatabaseSync) {
  const find = db.prepare(`SELECT ${LINK} FROM billing_links WHERE customer = ?`)
  const all = db.prepare(`SELECT ${LINK} FROM billing_links`)
  const event = db.prepare('SELECT 1 FROM billing_events WHERE id = ?')
  return {
    findBilling: (customer: string) => recordOf(find.get(customer), asRecord<BillingLink>),
    hasBillingEvent: (id: string) => event.get(id) !== undefined,
    listBilling: () => all.all().map(asRecord<BillingLink>),
  }
}

export function billingWriters(db: DatabaseSync) {
  const link = db.prepare(
    `INSERT INTO billing_links (customer, account_id, last_event_at, subscription, status, linked_at)
     VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (customer) DO UPDATE SET account_id = excluded.account_id, last_event_at = excluded.last_event_at,
       subscription = excluded.subscription, status = excluded.status, linked_at = excluded.linked_at
     WHERE excluded.last_event_at >= billing_links.last_event_at`,
  )
  const note = db.prepare('INSERT OR IGNORE INTO billing_events VALUES (?, ?)')
  const forget = db.prepare('DELETE FROM billing_events WHERE at < ?')
  return {
    linkBilling: ({ customer, accountId, lastEventAtMs, subscription, status, linkedAtMs }: BillingLink) =>
      link.run(customer, accountId, lastEventAtMs, subscription, status, linkedAtMs).changes > 0,
    noteBillingEvent: (id: string, atMs: number) => {
      forget.run(atMs - EVENT_MEMORY_MS)
      note.run(id, atMs)
    },
  }
}
