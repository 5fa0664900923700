import type { DatabaseSync } from 'node:sqlite'
import type { AuditEntry } from '../audit-entry.ts'

/** Adds an entry to the audit log, if there is one. */
export function auditInserter(db: DatabaseSync) {
  const insert = db.prepare(
    'INSERT INTO audit (at, actor, action, account_id, detail) VALUES (?, ?, ?, ?, ?)',
  )
  return (entry: AuditEntry | undefined): void => {
    if (entry === undefined) return
    const { atMs, actor, action, accountId, detail } = entry
    insert.run(atMs, actor, action, accountId, detail)
  }
}
