import type { DatabaseSync } from 'node:sqlite'
import type { AccountsStore, IdempotencyClaim, StoredReply } from '../accounts.ts'

/** Claims wait while old entries are deleted, so that is done a little at a time. */
const FORGOTTEN_AT_ONCE = 200

/**
 * free ──claim──▶ in progress ──finish──▶ done ──expiry──▶ free
 *                     └──release, or the claim's own time runs out (its process died)──▶ free
 */
export function idempotencyWriters(db: DatabaseSync) {
  const forget = db.prepare(
    `DELETE FROM idempotency WHERE id IN
       (SELECT id FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ${FORGOTTEN_AT_ONCE})`,
  )
  const find = db.prepare('SELECT * FROM idempotency WHERE id = ? AND expires_at > ?')
  const remove = db.prepare('DELETE FROM idempotency WHERE id = ?')
  const put = db.prepare(
    `INSERT INTO idempotency (id, body_hash, claimed_until, expires_at, reply, account_id)
     VALUES (?, ?, ?, ?, NULL, ?)`,
  )
  const totals = db.prepare('SELECT entries, bytes FROM idempotency_totals WHERE account_id = ?')
  const totalsOf = db.prepare(
    `SELECT t.bytes FROM idempotency i JOIN idempotency_totals t ON t.account_id = i.account_id WHERE i.id = ?`,
  )
  const finish = db.prepare('UPDATE idempotency SET reply = ?, bytes = ? WHERE id = ?')
  const release = db.prepare('DELETE FROM idempotency WHERE id = ? AND reply IS NULL')

  return {
    claimIdempotency: (claim: Parameters<AccountsStore['claimIdempotency']>[0]): IdempotencyClaim => {
      forget.run(claim.nowMs)
      const row = find.get(claim.id, claim.nowMs)
      if (row !== undefined) {
        if (row.reply === null && Number(row.claimed_until) > claim.nowMs) {
          return { state: row.body_hash === claim.bodyHash ? 'in_progress' : 'other_body' }
        }
        if (row.reply !== null) {
          if (row.body_hash !== claim.bodyHash) return { state: 'other_body' }
          return { state: 'done', reply: JSON.parse(String(row.reply)) as StoredReply }
        }
      }
      remove.run(claim.id)
      if (Number(totals.get(claim.accountId)?.entries ?? 0) >= claim.maxEntries) return { state: 'full' }
      put.run(claim.id, claim.bodyHash, claim.claimedUntilMs, claim.expiresAtMs, claim.accountId)
      return { state: 'fresh' }
    },
    finishIdempotency: (id: string, reply: StoredReply, maxBytesOfAccount: number) => {
      const text = JSON.stringify(reply)
      const fits = Number(totalsOf.get(id)?.bytes ?? 0) + text.length <= maxBytesOfAccount
      const kept = fits ? text : JSON.stringify({ ...reply, headers: [], body: '', omitted: 'quota' })
      finish.run(kept, fits ? text.length : 0, id)
    },
    releaseIdempotency: (id: string) => void release.run(id),
  }
}
