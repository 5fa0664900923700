import type { Environment } from '../core/environment.ts'
import { DATASETS, type Dataset, type Feed } from '../core/feed.ts'
import { keptDays, type RetentionRule } from '../core/retention.ts'
import { DAY_MS } from '../core/time.ts'
import { type Clock, elapsedMs, runAfter, runEvery } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { EnvironmentStore } from './environment.ts'
import type { FeedFilter, FeedInfo } from './series.ts'

const FIRST_RUN_MS = 5 * 60_000
const INTERVAL_MS = 3_600_000
/**
 * The newest row of a service that records is not older. Where it is, the clock may be wrong (recorders run on the time of
 * their venues), and rows are as old as they are beside the newest one.
 */
const MAX_AGE_OF_NEWEST_MS = 7 * DAY_MS
/** Backfills have come by then. */
const COMPACT_AFTER_MS = 2 * DAY_MS
/** Recorders write in between. */
const BETWEEN_STEPS_MS = 20
/** Nobody waits for rows to be packed: it rests so many times as long as a step took. */
const RESTS = 30
const MAX_REST_MS = 5_000

/**
 * Deletes rows beyond their retention once an hour. The store is open only meanwhile: its writer is a thread. The
 * function ends it.
 */
export function startRetention(
  open: () => Promise<EnvironmentStore>,
  parts: {
    readonly environment: Environment
    readonly rules: readonly RetentionRule[]
    readonly clock: Clock
    readonly log: Logger
  },
): () => Promise<void> {
  const { environment, rules, clock, log } = parts
  const stopped = new AbortController()
  let running: Promise<void> | undefined
  const rest = async (ms: number) => {
    await clock.sleep(ms, stopped.signal).catch(() => {})
    return !stopped.signal.aborted
  }
  const betweenSteps = () => rest(BETWEEN_STEPS_MS)
  /** The first days of a service are packed at once: without rests that alone takes half of a core for a minute. */
  const unhurried = () => {
    let stepStartedMs = elapsedMs(clock)
    return async () => {
      const tookMs = elapsedMs(clock) - stepStartedMs
      const mayGoOn = await rest(Math.min(Math.max(BETWEEN_STEPS_MS, RESTS * tookMs), MAX_REST_MS))
      stepStartedMs = elapsedMs(clock)
      return mayGoOn
    }
  }
  const run = async () => {
    const store = await open()
    try {
      const lists = await Promise.all(DATASETS.map((dataset) => store.series.feeds({ dataset })))
      const aheadMs = clockAhead(lists.flat(), clock.now())
      if (aheadMs > 0) log.warn({ environment, aheadMs }, 'the newest row is old: less is deleted')
      for (const [place, dataset] of DATASETS.entries()) {
        const feeds = (lists[place] ?? []).map(({ feed }) => feed)
        for (const { days, ...filter } of expiries(rules, dataset, feeds)) {
          if (stopped.signal.aborted) return
          const deleted = await store.series.retain(filter, days * DAY_MS + aheadMs, {
            ...{ betweenSteps, nowMs: clock.now() },
          })
          if (deleted > 0) log.info({ environment, ...filter, days, deleted }, 'old rows were deleted')
        }
      }
      if (stopped.signal.aborted) return
      const packed = await store.compact(COMPACT_AFTER_MS, { betweenSteps: unhurried() })
      if (packed > 0) log.info({ environment, packed }, 'rows of past days were packed')
      const bytes = await store.giveBackRoom({ betweenSteps: unhurried() })
      if (bytes > 0) log.info({ environment, bytes }, 'room of deleted rows was given back')
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
    stopped.abort()
    cancelFirst()
    stop()
    await running
  }
}

/** How far the clock may be ahead of what is recorded. */
function clockAhead(feeds: readonly FeedInfo[], nowMs: number): number {
  const newestMs = feeds.reduce((newest, { lastTs = 0 }) => Math.max(newest, lastTs), 0)
  const ageMs = nowMs - newestMs
  return newestMs === 0 || ageMs <= MAX_AGE_OF_NEWEST_MS ? 0 : ageMs
}

type Expiry = FeedFilter & { readonly dataset: Dataset; readonly days: number }

/** First what no feed of the dataset keeps, since an engine may drop whole months of it; then what single ones keep shorter. */
function expiries(rules: readonly RetentionRule[], dataset: Dataset, feeds: readonly Feed[]): Expiry[] {
  const kinds = new Map(feeds.map(({ source, interval }) => [`${source}/${interval}`, { source, interval }]))
  const own = [...kinds.values()].flatMap((kind): Expiry[] => {
    const days = keptDays(rules, { dataset, ...kind })
    return days === null ? [] : [{ dataset, ...kind, days }]
  })
  if (own.length < kinds.size || own.length === 0) return own
  const longest = Math.max(...own.map(({ days }) => days))
  return [{ dataset, days: longest }, ...own.filter(({ days }) => days < longest)]
}
