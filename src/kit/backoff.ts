/** How long to wait before each retry: exponential growth with full jitter. */
export interface BackoffPolicy {
  baseMs: number
  capMs: number
}

/** The upper bound before jitter: base, 2·base, 4·base … up to the cap. */
export function backoffCeilingMs(policy: BackoffPolicy, attempt: number): number {
  return Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(attempt, 30))
}

/** Full jitter: anywhere between 0 and the ceiling, so that many clients do not return together. */
export function backoffMs(policy: BackoffPolicy, attempt: number, random: () => number): number {
  return Math.floor(random() * backoffCeilingMs(policy, attempt))
}
