import { type Feed, feedName } from '../../../core/feed.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'
import type { Finality } from '../../../store/series.ts'
import { type KnownCoverage, knownCoverage } from './known-coverage.ts'

/**
 * What is known of feeds as a whole. It moves seldom, so the store is asked again only after a while, or as
 * soon as this process has written something.
 */
export interface FeedFacts {
  /** Time of the first row of all these feeds. */
  earliest(feeds: readonly Feed[]): Promise<number | undefined>
  finality(feeds: readonly Feed[]): Promise<Finality[]>
  /** What was observed in a range, given the feeds' finality. */
  readonly coverage: KnownCoverage
}

const FIRST_ROW_FRESH_MS = 1_000
const FINALITY_FRESH_MS = 100

export function feedFacts(store: EnvironmentStore, clock: Clock): FeedFacts {
  const firstRow = remembered(
    clock,
    FIRST_ROW_FRESH_MS,
    () => 0,
    async (feed) => {
      const { dataset, source, symbol, interval } = feed
      return store.series.earliest({ dataset, source, symbol, interval })
    },
  )
  const finality = remembered(clock, FINALITY_FRESH_MS, store.writes, async (feed) => {
    const [known] = await store.series.finality([feed])
    return known ?? { feed, before: 0, epoch: 0 }
  })
  return {
    coverage: knownCoverage(store.coverage),
    async earliest(feeds) {
      let earliest: number | undefined
      for (const feed of feeds) {
        const time = await firstRow(feed)
        if (time !== undefined && (earliest === undefined || time < earliest)) earliest = time
      }
      return earliest
    },
    async finality(feeds) {
      const found: Finality[] = []
      for (const feed of feeds) found.push(await finality(feed))
      return found
    },
  }
}

function remembered<T>(
  clock: Clock,
  freshMs: number,
  writes: () => number,
  ask: (feed: Feed) => Promise<T>,
): (feed: Feed) => T | Promise<T> {
  const known = new Map<string, { value: T; atMs: number; writes: number }>()
  return (feed) => {
    const name = feedName(feed)
    const entry = known.get(name)
    if (entry !== undefined && clock.now() - entry.atMs < freshMs && entry.writes === writes()) {
      return entry.value
    }
    const asked = { atMs: clock.now(), writes: writes() }
    return ask(feed).then((value) => {
      known.set(name, { value, ...asked })
      return value
    })
  }
}
