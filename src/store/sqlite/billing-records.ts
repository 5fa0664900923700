import type { DatabaseSync } from 'node:sqlite'
import type { BillingLink } from '../billing.ts'

/** Event ids are kept for longer than a provider repeats an event. */
const EVENT_MEMORY_MS = 60 * 24 * 3_600_000

export function billingReaders(db: DatabaseSync) {
  const find = db.prepare('SELECT * FROM billing_links WHERE customer = ?')
  const all = db.prepare('SELECT * FROM billing_links')
  const event = db.prepare('SELECT 1 FROM billing_events WHERE id = ?')
  return {
    findBilling: (customer: string): BillingLink | undefined => {
      const row = find.get(customer)
      return row === undefined ? undefined : toLink(row)
    },
    hasBillingEvent: (id: string) => event.get(id) !== undefined,
    listBilling: () => all.all().map(toLink),
  }
}

export function billingWriters(db: DatabaseSync) {
  const link = db.prepare(
    `INSERT OR REPLACE INTO billing_links (customer, account_id, last_event_at, subscription, status, linked_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
  )
  const note = db.prepare('INSERT OR IGNORE INTO billing_events VALUES (?, ?)')
  const forget = db.prepare('DELETE FROM billing_events WHERE at < ?')
  return {
    linkBilling: ({ customer, accountId, lastEventAtMs, subscription, status, linkedAtMs }: BillingLink) =>
      void link.run(customer, accountId, lastEventAtMs, subscription, status, linkedAtMs),
    noteBillingEvent: (id: string, atMs: number) => {
      forget.run(atMs - EVENT_MEMORY_MS)
      note.run(id, atMs)
    },
  }
}

function toLink(row: Record<string, unknown>): BillingLink {
  return {
    customer: String(row.customer),
    accountId: String(row.account_id),
    lastEventAtMs: Number(row.last_event_at),
    subscription: String(row.subscription),
    status: String(row.status),
    linkedAtMs: Number(row.linked_at),
  }
}
