import type { AuditEntry } from '../audit-entry.ts'
import { type Queries, statement } from './database.ts'
import { storable } from './texts.ts'

const INSERT_AUDIT = statement(
  'audit_insert',
  'INSERT INTO audit (at, actor, action, account_id, detail) VALUES ($1, $2, $3, $4, $5)',
)

/** Adds an entry to the audit log, if there is one. */
export async function insertAudit(tx: Pick<Queries, 'run'>, entry: AuditEntry | undefined): Promise<void> {
  if (entry === undefined) return
  const { atMs, actor, action, accountId, detail } = entry
  await tx.run(INSERT_AUDIT, [atMs, storable(actor), action, accountId, storable(detail)])
}
