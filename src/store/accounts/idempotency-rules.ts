/**
 * The states of an idempotency key, and what a request with it gets.
 *
 *  free ──claim──▶ in progress ──finish──▶ done ──expiry──▶ free
 *                      └──released, or the claim expired because its process died──▶ free
 */
import type { IdempotencyClaim, StoredReply } from '../accounts.ts'

/** A stored key that has not expired. */
export interface IdempotencyEntry {
  readonly bodyHash: string
  readonly claimedUntilMs: number
  /** Null while the request is in progress. */
  readonly reply: string | null
}

/** Undefined when the key may be claimed. */
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

/** The reply if it fits into the account's quota; otherwise only the fact that there was one, which takes no quota. */
export function storedForm(
  reply: StoredReply,
  { usedBytes, maxBytes }: { usedBytes: number; maxBytes: number },
): { text: string; bytes: number } {
  const text = JSON.stringify(reply)
  if (usedBytes + text.length <= maxBytes) return { text, bytes: text.length }
  return { text: JSON.stringify({ ...reply, headers: [], body: '', omitted: 'quota' }), bytes: 0 }
}
