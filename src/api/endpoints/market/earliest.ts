import { type Feed, feedName } from '../../../core/feed.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { SeriesStore } from '../../../store/series.ts'

/** The time of a feed's first row moves only by backfill and retention: it is asked for once in a while. */
export type EarliestRows = (feeds: readonly Feed[]) => Promise<number | undefined>

const FRESH_MS = 1_000

export function earliestRows(series: SeriesStore, clock: Clock): EarliestRows {
  const known = new Map<string, { time: number | undefined; askedAtMs: number }>()
  const ofFeed = async (feed: Feed): Promise<number | undefined> => {
    const name = feedName(feed)
    const nowMs = clock.now()
    const entry = known.get(name)
    if (entry !== undefined && nowMs - entry.askedAtMs < FRESH_MS) return entry.time
    const { dataset, source, symbol, interval } = feed
    const time = await series.earliest({ dataset, source, symbol, interval })
    known.set(name, { time, askedAtMs: nowMs })
    return time
  }
  return async (feeds) => {
    let earliest: number | undefined
    for (const feed of feeds) {
      const time = await ofFeed(feed)
      if (time !== undefined && (earliest === undefined || time < earliest)) earliest = time
    }
    return earliest
  }
}
