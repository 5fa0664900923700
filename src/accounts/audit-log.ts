import type { Clock } from '../kit/clock.ts'
import type { AuditEntry } from '../store/audit-entry.ts'
import type { UsersStore } from '../store/users.ts'

export type AuditLog = ReturnType<typeof createAuditLog>

/** Records permanently who did what. */
export function createAuditLog({ store, clock }: { store: UsersStore; clock: Clock }) {
  const entry = (done: Omit<AuditEntry, 'atMs'>): AuditEntry => ({ ...done, atMs: clock.now() })
  return {
    /** For writes that store the entry together with the change, so that there is never one without the other. */
    entry,
    note: (done: Omit<AuditEntry, 'atMs'>) => store.addAudit(entry(done)),
    /** Newest first, below `before`. */
    list: (query: { limit: number; before?: number }) => store.listAudit(query),
  }
}
