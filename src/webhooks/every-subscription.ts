import type { JobsStore, SubscriptionRecord } from '../store/jobs.ts'

/** A page takes one round trip and a few milliseconds of this thread; other work runs in between. */
const PAGE = { limit: 200, maxChars: 256 * 1024 }

/** All subscriptions, a page at a time, because with their addresses they would not fit in memory. */
export async function* everySubscription(
  store: Pick<JobsStore, 'subscriptionPage'>,
): AsyncGenerator<SubscriptionRecord> {
  for (let afterId = ''; ; ) {
    const page = await store.subscriptionPage({ ...PAGE, afterId })
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    afterId = last.id
  }
}
