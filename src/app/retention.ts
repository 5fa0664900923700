import type { Dataset } from '../core/feed.ts'
import { DAY_MS } from '../core/time.ts'
import type { EnvironmentStore } from '../store/environment.ts'
import type { FeedFilter } from '../store/series.ts'
import type { Parts } from './parts.ts'

/** How long rows are kept where it is not for ever. */
type Kept = FeedFilter & { readonly dataset: Dataset; readonly days: number }

const LIVE: readonly Kept[] = [{ dataset: 'liquidations', days: 90 }]
/** The test environment keeps little of what is seen tick by tick. */
const TEST: readonly Kept[] = [
  { dataset: 'liquidations', days: 7 },
  { dataset: 'trades', days: 3 },
  { dataset: 'ticker', days: 3 },
  { dataset: 'snapshots', days: 2 },
  { dataset: 'candles', interval: '1s', days: 2 },
]
const FIRST_RUN_MS = 5 * 60_000
const INTERVAL_MS = 3_600_000

/** Deletes what is older than it is kept, now and then. */
export function startRetention(
  store: EnvironmentStore,
  parts: Pick<Parts, 'environment' | 'clock' | 'log' | 'shutdown'>,
): void {
  const { environment, clock, log, shutdown } = parts
  const run = async () => {
    for (const { days, ...filter } of environment === 'test' ? TEST : LIVE) {
      const deleted = await store.series.retain(filter, clock.now() - days * DAY_MS)
      if (deleted > 0) log.info({ environment, ...filter, deleted }, 'old rows were deleted')
    }
  }
  const go = () => void run().catch((err) => log.error({ err, environment }, 'old rows could not be deleted'))
  const first = setTimeout(go, FIRST_RUN_MS)
  const timer = setInterval(go, INTERVAL_MS)
  first.unref()
  timer.unref()
  shutdown.add(`${environment} retention`, () => {
    clearTimeout(first)
    clearInterval(timer)
  })
}
