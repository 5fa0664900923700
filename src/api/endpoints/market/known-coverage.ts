import { type Feed, feedName } from '../../../core/feed.ts'
import type { Coverage, CoverageStore, Span } from '../../../store/coverage.ts'
import type { Finality } from '../../../store/series.ts'

/**
 * Remembers observed spans of final time: they stay valid while the feed's epoch is the same. Most pages of history
 * are inside one such span, and then nothing has to be read.
 */
export interface KnownCoverage {
  read(
    feeds: readonly Feed[],
    from: number,
    to: number,
    finality: readonly Finality[],
  ): Coverage | Promise<Coverage>
}

/** How far around the page is read, so that the neighbouring pages are known as well. */
const AROUND_MS = 7 * 86_400_000
const MAX_FEEDS = 10_000

export function knownCoverage(store: CoverageStore): KnownCoverage {
  const observed = new Map<string, Span & { epoch: number }>()

  async function readAround(feed: Feed, from: number, to: number, final: Finality): Promise<Coverage> {
    const around = await store.read([feed], from - AROUND_MS, Math.min(to + AROUND_MS, final.before))
    const span = around.observed.find((part) => part.from <= from && to <= part.to)
    if (span === undefined) return store.read([feed], from, to)
    if (observed.size >= MAX_FEEDS) observed.clear()
    observed.set(feedName(feed), { ...span, epoch: final.epoch })
    return { complete: true, observed: [{ from, to }], gaps: [] }
  }

  return {
    read(feeds, from, to, finality) {
      const [feed] = feeds
      const [final] = finality
      const isFinal = feeds.length === 1 && feed && final && to <= final.before
      if (!isFinal) return store.read(feeds, from, to)
      const known = observed.get(feedName(feed))
      if (known?.epoch === final.epoch && known.from <= from && to <= known.to) {
        return { complete: true, observed: [{ from, to }], gaps: [] }
      }
      return readAround(feed, from, to, final)
    },
  }
}
