import type { AccountsStore, KeyRecord } from '../store/accounts.ts'

/** Follows a chain of rotations up to this length; no key is rotated so often. */
const MAX_ROTATIONS = 1_000

/**
 * The key that pays for a webhook: the one that created it, or the one that replaced it in a rotation.
 * Undefined for a webhook created in the dashboard.
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

/** Why a webhook ends with its key; undefined while the key is valid. */
export function keyEnd(key: KeyRecord | undefined, nowMs: number): 'key_revoked' | 'key_expired' | undefined {
  if (key === undefined) return undefined
  if (key.revokedAtMs !== null) return 'key_revoked'
  return key.expiresAtMs !== null && key.expiresAtMs <= nowMs ? 'key_expired' : undefined
}
