import type { DatabaseSync } from 'node:sqlite'
import { claimOf, storedForm } from '../accounts/idempotency-rules.ts'
import type { AccountsStore, HeldClaim, IdempotencyClaim, StoredReply } from '../accounts.ts'

/** Claims wait while old entries are deleted, so only a few are deleted at a time. */
const FORGOTTEN_AT_ONCE = 200

export function idempotencyWriters(db: DatabaseSync) {
  const forget = db.prepare(
    `DELETE FROM idempotency WHERE id IN
       (SELECT id FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ${FORGOTTEN_AT_ONCE})`,
  )
  const find = db.prepare(
    'SELECT body_hash, claimed_until, reply FROM idempotency WHERE id = ? AND expires_at > ?',
  )
  const remove = db.prepare('DELETE FROM idempotency WHERE id = ?')
  const put = db.prepare(
    `INSERT INTO idempotency (id, body_hash, claimed_until, expires_at, reply, account_id, claim)
     VALUES (?, ?, ?, ?, NULL, ?, ?)`,
  )
  const next = db.prepare('UPDATE idempotency_claims SET newest = newest + 1 RETURNING newest')
  const totals = db.prepare('SELECT entries FROM idempotency_totals WHERE account_id = ?')
  const totalsOf = db.prepare(
    `SELECT t.bytes FROM idempotency i JOIN idempotency_totals t ON t.account_id = i.account_id
     WHERE i.id = ? AND i.claim = ?`,
  )
  const finish = db.prepare('UPDATE idempotency SET reply = ?, bytes = ? WHERE id = ? AND claim = ?')
  const extend = db.prepare(
    'UPDATE idempotency SET claimed_until = ? WHERE id = ? AND claim = ? AND reply IS NULL',
  )
  const release = db.prepare('DELETE FROM idempotency WHERE id = ? AND claim = ? AND reply IS NULL')

  return {
    claimIdempotency(
      claim: Parameters<AccountsStore['claimIdempotency']>[0],
      nowMs: number,
    ): IdempotencyClaim {
      const { id, accountId, bodyHash } = claim
      forget.run(nowMs)
      const row = find.get(id, nowMs)
      const entry = row && {
        bodyHash: String(row.body_hash),
        claimedUntilMs: Number(row.claimed_until),
        reply: row.reply === null ? null : String(row.reply),
      }
      const answer = entry && claimOf(entry, bodyHash, nowMs)
      if (answer !== undefined) return answer
      remove.run(id)
      if (Number(totals.get(accountId)?.entries ?? 0) >= claim.maxEntries) return { state: 'full' }
      const number = Number(next.get()?.newest)
      put.run(id, bodyHash, nowMs + claim.claimMs, nowMs + claim.rememberedMs, accountId, number)
      return { state: 'fresh', claim: number }
    },
    finishIdempotency({ id, claim }: HeldClaim, reply: StoredReply, maxBytes: number): void {
      const usedBytes = Number(totalsOf.get(id, claim)?.bytes ?? 0)
      const { text, bytes } = storedForm(reply, { usedBytes, maxBytes })
      finish.run(text, bytes, id, claim)
    },
    extendIdempotency: ({ id, claim }: HeldClaim, claimedUntilMs: number) =>
      void extend.run(claimedUntilMs, id, claim),
    releaseIdempotency: ({ id, claim }: HeldClaim) => void release.run(id, claim),
  }
}
