import { type Feed, feedName } from '../../../core/feed.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'
import type { Finality } from '../../../store/series.ts'

/**
 * Facts about whole feeds. They rarely change, but recorders in other threads and processes change them, so they are
 * read again after a short time.
 */
export interface FeedFacts {
  /** The time of the first row in any of these feeds. */
  earliest(feeds: readonly Feed[]): number | undefined | Promise<number | undefined>
  finality(feeds: readonly Feed[]): Finality[] | Promise<Finality[]>
}

const FIRST_ROW_FRESH_MS = 1_000
/** How old finality, and pages that are composed from memory, may be. */
export const FINALITY_FRESH_MS = 100

export function feedFacts(store: EnvironmentStore, clock: Clock): FeedFacts {
  const firstRow = remembered(clock, FIRST_ROW_FRESH_MS, async (feed) => {
    const { dataset, source, symbol, interval } = feed
    return store.series.earliest({ dataset, source, symbol, interval })
  })
  return {
    earliest(feeds) {
      const times = feeds.map(firstRow)
      return areKnown(times) ? leastOf(times) : Promise.all(times).then(leastOf)
    },
    finality: (feeds) => store.series.finality(feeds, FINALITY_FRESH_MS),
  }
}

function areKnown<T>(values: (T | Promise<T>)[]): values is T[] {
  return !values.some((value) => value instanceof Promise)
}

function leastOf(times: readonly (number | undefined)[]): number | undefined {
  let least: number | undefined
  for (const time of times) if (time !== undefined && (least === undefined || time < least)) least = time
  return least
}

function remembered<T>(
  clock: Clock,
  freshMs: number,
  ask: (feed: Feed) => Promise<T>,
): (feed: Feed) => T | Promise<T> {
  const known = new Map<string, { value: T; atMs: number }>()
  return (feed) => {
    const name = feedName(feed)
    const entry = known.get(name)
    const atMs = clock.now()
    if (entry !== undefined && atMs - entry.atMs < freshMs) return entry.value
    return ask(feed).then((value) => {
      known.set(name, { value, atMs })
      return value
    })
  }
}
