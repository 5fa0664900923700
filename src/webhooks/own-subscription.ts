import { ApiError } from '../core/errors.ts'
import type { JobsStore, SubscriptionRecord } from '../store/jobs.ts'

/** A subscription of another account counts as unknown. */
export async function ownSubscription(
  store: Pick<JobsStore, 'getSubscription'>,
  accountId: string,
  id: string,
): Promise<SubscriptionRecord> {
  const found = await store.getSubscription(id)
  if (found !== undefined && found.accountId === accountId) return found
  throw new ApiError('not_found', `There is no webhook ${id.slice(0, 64)}.`, { param: 'id' })
}
