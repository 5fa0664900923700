import type { Environment } from '../core/environment.ts'
import type { Dataset } from '../core/feed.ts'
import { DAY_MS } from '../core/time.ts'
import { type Clock, runAfter, runEvery } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { EnvironmentStore } from './environment.ts'
import type { FeedFilter } from './series.ts'

/** For how many days rows of a feed are retained; what is not listed is never deleted. */
type RetentionRule = FeedFilter & { readonly dataset: Dataset; readonly days: number }

const LIVE: readonly RetentionRule[] = [{ dataset: 'liquidations', days: 90 }]
/** The test environment retains little of what is recorded tick by tick. */
const TEST: readonly RetentionRule[] = [
  { dataset: 'liquidations', days: 7 },
  { dataset: 'trades', days: 3 },
  { dataset: 'ticker', days: 3 },
  { dataset: 'snapshots', days: 2 },
  { dataset: 'candles', interval: '1s', days: 2 },
]
const FIRST_RUN_MS = 5 * 60_000
const INTERVAL_MS = 3_600_000

/**
 * Deletes rows beyond their retention once an hour. The store is open only meanwhile: its writer is a thread. The
 * function ends it.
 */
export function startRetention(
  open: () => Promise<EnvironmentStore>,
  parts: {
    readonly environment: Environment
    readonly clock: Clock
    readonly log: Logger
  },
): () => Promise<void> {
  const { environment, clock, log } = parts
  let isStopped = false
  let running: Promise<void> | undefined
  const run = async () => {
    const store = await open()
    try {
      for (const { days, ...filter } of environment === 'test' ? TEST : LIVE) {
        if (isStopped) return
        const deleted = await store.series.retain(filter, days * DAY_MS)
        if (deleted > 0) log.info({ environment, ...filter, deleted }, 'old rows were deleted')
      }
    } finally {
      await store.close()
    }
  }
  const go = () => {
    running ??= run()
      .catch((err) => log.error({ err, environment }, 'old rows could not be deleted'))
      .finally(() => {
        running = undefined
      })
  }
  const cancelFirst = runAfter(clock, FIRST_RUN_MS, go)
  const stop = runEvery(clock, INTERVAL_MS, go)
  return async () => {
    isStopped = true
    cancelFirst()
    stop()
    await running
  }
}
