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
 * A service that records always has a newer row than this. If it does not, the clock may be wrong (recorders use the
 * clocks of their venues), and ages are measured from the newest row instead.
 */
const MAX_AGE_OF_NEWEST_MS = 7 * DAY_MS
/** Backfills have arrived by then. */
const COMPACT_AFTER_MS = 2 * DAY_MS
/** A run ends by then, so that the next one can delete on time; it continues packing where this one ended. */
const MAX_RUN_MS = 50 * 60_000
/** A pause in which recorders can write. */
const BETWEEN_STEPS_MS = 20
/**
 * Packing is not urgent, so it rests this many times as long as each step took, and less long after a run that did not
 * come to its end. Space that is returned may be needed sooner.
 */
const RESTS = { packing: 100, packingBehind: 30, givingBack: 30 }
/**
 * Rests are taken together once they add up to this: a recorder that finds that somebody else has written reads again
 * what it knows of the file.
 */
const REST_MS = 20_000
const MAX_REST_MS = 60_000

/**
 * Deletes rows beyond their retention once an hour. The store is open only during a run, because its writer is a
 * thread. The returned function stops it.
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
  /** Whether the last run ended before everything was packed. */
  let isBehind = false
  const rest = async (ms: number) => {
    await clock.sleep(ms, stopped.signal).catch(() => {})
    return !stopped.signal.aborted
  }
  const betweenSteps = () => rest(BETWEEN_STEPS_MS)
  /** Packing the first days of a service without rests would take half a core for a minute. */
  const unhurried = (endsAtMs: number, rests: number) => {
    let stepStartedMs = elapsedMs(clock)
    let owedMs = 0
    return async () => {
      owedMs += rests * (elapsedMs(clock) - stepStartedMs)
      const isDue = owedMs >= REST_MS
      const mayGoOn = await rest(isDue ? Math.min(owedMs, MAX_REST_MS) : BETWEEN_STEPS_MS)
      if (isDue) owedMs = 0
      stepStartedMs = elapsedMs(clock)
      return mayGoOn && stepStartedMs < endsAtMs
    }
  }
  const run = async () => {
    const endsAtMs = elapsedMs(clock) + MAX_RUN_MS
    const store = await open()
    const giveBackRoom = async () => {
      const bytes = await store.giveBackRoom({ betweenSteps: unhurried(endsAtMs, RESTS.givingBack) })
      if (bytes > 0) log.info({ environment, bytes }, 'room of deleted rows was given back')
    }
    let isDeleted = false
    try {
      const stored = await store.series.feeds({})
      const aheadMs = clockAhead(stored, clock.now())
      if (aheadMs > 0) log.warn({ environment, aheadMs }, 'the newest row is old: less is deleted')
      for (const dataset of DATASETS) {
        const feeds = stored.map(({ feed }) => feed).filter((feed) => feed.dataset === dataset)
        for (const { days, ...filter } of expiries(rules, dataset, feeds)) {
          if (stopped.signal.aborted) return
          const deleted = await store.series.retain(filter, days * DAY_MS + aheadMs, {
            ...{ feeds, betweenSteps, nowMs: clock.now() },
          })
          isDeleted ||= deleted > 0
          if (deleted > 0) log.info({ environment, ...filter, days, deleted }, 'old rows were deleted')
        }
      }
      if (stopped.signal.aborted) return
      // Packing can take the rest of the run, and on a full disk the space of deleted rows is needed now.
      if (isDeleted) await giveBackRoom()
      const rests = isBehind ? RESTS.packingBehind : RESTS.packing
      const packed = await store.compact(COMPACT_AFTER_MS, { betweenSteps: unhurried(endsAtMs, rests) })
      isBehind = elapsedMs(clock) >= endsAtMs
      if (packed > 0) log.info({ environment, packed }, 'rows of past days were packed')
      await giveBackRoom()
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

/** How far the clock may be ahead of the recorded data. */
function clockAhead(feeds: readonly FeedInfo[], nowMs: number): number {
  const newestMs = feeds.reduce((newest, { lastTs = 0 }) => Math.max(newest, lastTs), 0)
  const ageMs = nowMs - newestMs
  return newestMs === 0 || ageMs <= MAX_AGE_OF_NEWEST_MS ? 0 : ageMs
}

type Expiry = FeedFilter & { readonly dataset: Dataset; readonly days: number }

/**
 * First what no feed of the dataset keeps, because an engine may drop whole months at once, then what single feeds keep
 * for a shorter time.
 */
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
