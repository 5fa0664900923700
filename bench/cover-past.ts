import { SYMBOLS } from '../src/core/symbol.ts'
import { feedOf, trackedFeeds } from '../src/ingest/shared/feeds.ts'
import { systemClock } from '../src/kit/clock.ts'
import { observed } from '../src/store/coverage.ts'
import { openStores, parseStoreAddress } from '../src/store/open-stores.ts'
import { VENUES } from '../src/venues/list.ts'

const PLANS = Object.values(VENUES)
  .map(({ plan }) => plan)
  .filter((plan) => plan.kind === 'exchange')
const MONTH_MS = 32 * 86_400_000

/** A store of exchanges whose history is complete: a service that starts on it only records the present. */
export async function coverPast(folder: string): Promise<void> {
  const store = await openStores(parseStoreAddress(folder), systemClock).environment('test')
  const nowMs = Date.now()
  for (const plan of PLANS) {
    for (const symbol of SYMBOLS) {
      const feeds = trackedFeeds(plan, symbol).map(({ feed }) => feed)
      if (plan.hasFlow) feeds.push(feedOf('flow', plan.source, symbol, '1m'))
      for (const feed of feeds) {
        await store.write({ coverage: [observed(feed, nowMs - MONTH_MS, nowMs)] })
        await store.write({ finalize: [{ feed: feed, before: nowMs }] })
      }
    }
  }
  await store.close()
}
