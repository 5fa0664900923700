/** How the free credits of a budget are shared among the processes that spend them. */
import type { CreditLeaseGrant, CreditLeaseRequest } from '../accounts.ts'

/** A lease that is not renewed ends after this time, so that a dead process gives its credits back. */
export const CREDIT_LEASE_MS = 3_000
/** A process that waits for credits repeats its request within this time. */
export const CREDIT_WAIT_MS = 2_000

/** A budget as a process finds it: what is used, and what other processes hold or wait for. */
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
 * A sole process takes everything. Several take half of what is free, so that all continue without a round trip per
 * request. Where another one waits, only a small part is taken, and at least what a waiting charge needs, all or nothing:
 * two processes that each hold a part that is too small would refuse what the budget could pay.
 */
function shareOf(available: number, need: number, use: BudgetUse): number {
  if (available < need) return 0
  if (use.wantedByOthers) return need === 0 ? 0 : Math.max(need, Math.floor(available * WANTED_SHARE))
  return use.hasOtherHolders ? Math.max(need, Math.floor(available / 2)) : available
}

/** The charges that a round trip pays for while processes wait for each other's credits are a tenth of what is left. */
const WANTED_SHARE = 0.1
