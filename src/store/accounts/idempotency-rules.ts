/**
 * What a request with an idempotency key gets.
 *
 * free ──claim──▶ in progress ──finish──▶ done ──expiry──▶ free
 *                     └──release, or the claim's own time runs out (its process died)──▶ free
 */
import type { IdempotencyClaim, StoredReply } from '../accounts.ts'

/** A stored key that has not expired. */
export interface IdempotencyEntry {
  readonly bodyHash: string
  readonly claimedUntilMs: number
  /** Null while the request is in progress. */
  readonly reply: string | null
}

/** Undefined: the key may be claimed. */
export function claimOf(
  entry: IdempotencyEntry,
  bodyHash: string,
  nowMs: number,
): IdempotencyClaim | undefined {
  if (entry.reply === null) {
    if (entry.claimedUntilMs <= nowMs) return undefined
    return { state: entry.bodyHash === bodyHash ? 'in_progress' : 'other_body' }
  }
  if (entry.bodyHash !== bodyHash) return { state: 'other_body' }
  return { state: 'done', reply: JSON.parse(entry.reply) as StoredReply }
}

/** A reply that fits what the account may store; otherwise only that there was one, which counts as nothing. */
export function storedForm(
  reply: StoredReply,
  { usedBytes, maxBytes }: { usedBytes: number; maxBytes: number },
): { text: string; bytes: number } {
  const text = JSON.stringify(reply)
  if (usedBytes + text.length <= maxBytes) return { text, bytes: text.length }
  return { text: JSON.stringify({ ...reply, headers: [], body: '', omitted: 'quota' }), bytes: 0 }
}
