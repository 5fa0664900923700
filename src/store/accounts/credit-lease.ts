/** How the free credits of a budget are shared among the processes that spend them. */
import type { CreditLeaseGrant, CreditLeaseRequest } from '../accounts.ts'

/** A lease that is not renewed expires after this time, so that the credits of a dead process become free again. */
export const CREDIT_LEASE_MS = 3_000
/**
 * What ends later was written by a clock that has been set back since. The holder may be alive, so the lease is not over,
 * but it ends this long from now. Longer than any wait for the store, before which the time may have been read.
 */
export const MAX_CREDIT_LEASE_AHEAD_MS = 60_000
/** A process that waits for credits repeats its request within this time. */
export const CREDIT_WAIT_MS = 2_000

/** The state of a budget for one process: what is used, and what other processes hold or wait for. */
export interface BudgetUse {
  readonly limit: number
  readonly used: number
  readonly heldByOthers: number
  readonly hasOtherHolders: boolean
  readonly wantedByOthers: boolean
}

export function leaseCredits(request: CreditLeaseRequest, use: BudgetUse): CreditLeaseGrant {
  const { id, periodStartMs, keep, need, release } = request
  const { limit, used, heldByOthers, wantedByOthers } = use
  const available = Math.max(0, limit - used - heldByOthers)
  const granted = release ? 0 : Math.max(Math.min(keep, available), shareOf(available, need, use))
  return { id, periodStartMs, limit, used, granted, heldByOthers, wantedByOthers }
}

/**
 * A single process takes everything. Several take half of what is free, so that all continue without a round trip per
 * request. While another process waits, a lease takes only a small part: at least what a waiting charge needs, or
 * nothing. Two processes that each hold too little would refuse charges that the budget could pay.
 */
function shareOf(available: number, need: number, use: BudgetUse): number {
  if (available < need) return 0
  if (use.wantedByOthers) return need === 0 ? 0 : Math.max(need, Math.floor(available * WANTED_SHARE))
  return use.hasOtherHolders ? Math.max(need, Math.floor(available / 2)) : available
}

/** Share of the free credits that a lease takes while another process waits. */
const WANTED_SHARE = 0.1
