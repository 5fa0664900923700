import type { ReceiverHealth } from '../store/jobs.ts'

/**
 * When and why the service disables a subscription. The reason is shown to its owner, who enables it again with PATCH.
 * If the key of the subscription has ended, it then belongs to the key that enables it.
 */
export const DISABLE_REASONS = {
  gone: 'The receiver answered 410 Gone.',
  failing: 'Nothing could be delivered for five days.',
  paused: 'Nothing was delivered for five days, last because of credits, the plan or a paused account.',
  key_revoked: 'The key that made it was revoked.',
  key_expired: 'The key that made it has expired.',
} as const
export type DisableReason = keyof typeof DISABLE_REASONS

export const FAILING_LIMIT_MS = 5 * 24 * 3_600_000
const GONE_STATUS = 410

/** @param failingSinceMs the first failure since the last success; null if the last attempt succeeded */
export function disableReason(
  failure: { status: number | null; atMs: number },
  failingSinceMs: number | null,
): DisableReason | undefined {
  if (failure.status === GONE_STATUS) return 'gone'
  if (failingSinceMs !== null && failure.atMs - failingSinceMs >= FAILING_LIMIT_MS) return 'failing'
  return undefined
}

/** @param sinceMs the first pause or failure since the last success */
export function pausedTooLong(nowMs: number, sinceMs: number): DisableReason | undefined {
  return nowMs - sinceMs >= FAILING_LIMIT_MS ? 'paused' : undefined
}

/** In the form in which it is written. Disabling for time without a success applies only if no other worker had one. */
export function disabling(
  reason: DisableReason | undefined,
  atMs: number,
): Pick<ReceiverHealth, 'disable' | 'failingBeforeMs'> {
  const isForTime = reason === 'failing' || reason === 'paused'
  return { disable: reason ?? null, ...(isForTime ? { failingBeforeMs: atMs - FAILING_LIMIT_MS } : {}) }
}

export function isKeyEnd(reason: string | null | undefined): reason is 'key_revoked' | 'key_expired' {
  return reason === 'key_revoked' || reason === 'key_expired'
}
