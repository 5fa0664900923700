import type { AccountsStore, KeyRecord } from '../store/accounts.ts'

/** A chain of rotations is followed that far; nobody rotates a key so often. */
const MAX_ROTATIONS = 1_000

/**
 * The key that stands for a webhook: the one that made it, or the one that took its place when it was rotated.
 * Undefined for a webhook that was made in the dashboard.
 */
export async function findOwnerKey(
  accounts: Pick<AccountsStore, 'getKey'>,
  keyId: string,
): Promise<KeyRecord | undefined> {
  let key = await accounts.getKey(keyId)
  for (let steps = 0; steps < MAX_ROTATIONS && key !== undefined && key.replacedBy !== null; steps++) {
    key = (await accounts.getKey(key.replacedBy)) ?? key
  }
  return key
}

/** Why a webhook ends with its key; undefined while the key is good. */
export function keyEnd(key: KeyRecord | undefined, nowMs: number): 'key_revoked' | 'key_expired' | undefined {
  if (key === undefined) return undefined
  if (key.revokedAtMs !== null) return 'key_revoked'
  return key.expiresAtMs !== null && key.expiresAtMs <= nowMs ? 'key_expired' : undefined
}
