import type { DatabaseSync } from 'node:sqlite'
import type { AccountsStore, IdempotencyClaim, StoredReply } from '../accounts.ts'
import { writeTransaction } from './open.ts'

/**
 * free ──claim──▶ in progress ──finish──▶ done ──expiry──▶ free
 *                     └──release, or the claim's own time runs out (its process died)──▶ free
 */
export function idempotencyWriters(db: DatabaseSync) {
  const forget = db.prepare('DELETE FROM idempotency WHERE expires_at <= ?')
  const find = db.prepare('SELECT * FROM idempotency WHERE id = ?')
  const put = db.prepare('INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, NULL)')
  const finish = db.prepare('UPDATE idempotency SET reply = ? WHERE id = ?')
  const release = db.prepare('DELETE FROM idempotency WHERE id = ? AND reply IS NULL')

  return {
    claimIdempotency: (claim: Parameters<AccountsStore['claimIdempotency']>[0]): IdempotencyClaim =>
      writeTransaction(db, () => {
        forget.run(claim.nowMs)
        const row = find.get(claim.id)
        if (row !== undefined) {
          if (row.reply === null && Number(row.claimed_until) > claim.nowMs) {
            return { state: row.body_hash === claim.bodyHash ? 'in_progress' : 'other_body' }
          }
          if (row.reply !== null) {
            if (row.body_hash !== claim.bodyHash) return { state: 'other_body' }
            return { state: 'done', reply: JSON.parse(String(row.reply)) as StoredReply }
          }
        }
        put.run(claim.id, claim.bodyHash, claim.claimedUntilMs, claim.expiresAtMs)
        return { state: 'fresh' }
      }),
    finishIdempotency: (id: string, reply: StoredReply) => void finish.run(JSON.stringify(reply), id),
    releaseIdempotency: (id: string) => void release.run(id),
  }
}
