import { ApiError } from '../core/errors.ts'
import { nextTurn } from '../kit/time-slices.ts'
import type { JobsStore, SubscriptionPlace, SubscriptionRecord } from '../store/jobs.ts'

/** Limit per page, unless a single subscription has more; about 1.4 MB of text. */
export const MAX_PAGE_ADDRESSES = 10_000

export interface SubscriptionPage {
  readonly records: readonly SubscriptionRecord[]
  /** The next page starts after this place; undefined on the last page. */
  readonly next: SubscriptionPlace | undefined
}

/** The subscriptions of an account after a place. They are read one by one, so that other work can run in between. */
export async function subscriptionPage(
  store: Pick<JobsStore, 'subscriptionPlaces' | 'getSubscription'>,
  accountId: string,
  { limit, after }: { limit: number; after?: SubscriptionPlace },
): Promise<SubscriptionPage> {
  const from = after === undefined ? {} : { after }
  const places = await store.subscriptionPlaces({ accountId, limit: limit + 1, ...from })
  const records: SubscriptionRecord[] = []
  let addresses = 0
  let last: SubscriptionPlace | undefined
  for (const place of places.slice(0, limit)) {
    if (addresses >= MAX_PAGE_ADDRESSES) return { records, next: last }
    await nextTurn()
    const record = await store.getSubscription(place.id)
    addresses += record?.addresses.length ?? 0
    if (addresses > MAX_PAGE_ADDRESSES && records.length > 0) return { records, next: last }
    // The subscription may have been removed in the meantime.
    if (record !== undefined) records.push(record)
    last = place
  }
  return { records, next: places.length > limit ? last : undefined }
}

/** A subscription of another account is reported as not found. */
export async function ownSubscription(
  store: Pick<JobsStore, 'getSubscription'>,
  accountId: string,
  id: string,
): Promise<SubscriptionRecord> {
  const found = await store.getSubscription(id)
  if (found !== undefined && found.accountId === accountId) return found
  throw new ApiError('not_found', `There is no webhook ${id.slice(0, 64)}.`, { param: 'id' })
}
