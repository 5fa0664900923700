import type { Samples } from '../order/sample.ts'
import { spanOf } from './block.ts'
import { type GroupReader, lastBefore, lowerBound } from './group.ts'
import { type BookRef, refOf } from './walk.ts'

/** Samples of snapshots with books. */
export function bookSamples(groups: GroupReader): Samples<BookRef> {
  /** Neighbouring steps lie in the same spans. */
  const lists = new Map<string, string[]>()
  return {
    nearest({ feed, instrument }, order, from, to) {
      const ascending = order === 'asc'
      let span: number | undefined = spanOf(ascending ? from : to)
      for (;;) {
        span = groups.nearestSpan(feed, instrument, order, span)
        if (span === undefined || (ascending ? span > spanOf(to) : span < spanOf(from))) return undefined
        const views =
          instrument === undefined ? groups.views(feed, span) : [groups.view(feed, span, instrument)]
        const times = views.flatMap((view) => {
          if (view === undefined) return []
          const ts = ascending ? view.ts[lowerBound(view.ts, from)] : view.ts[lowerBound(view.ts, to + 1) - 1]
          return ts === undefined || ts < from || ts > to ? [] : [ts]
        })
        if (times.length > 0) return ascending ? Math.min(...times) : Math.max(...times)
        span += ascending ? 1 : -1
      }
    },
    instruments(feed, from, to) {
      const key = `${feed}/${spanOf(from)}/${spanOf(to)}`
      const known = lists.get(key) ?? groups.instruments(feed, spanOf(from), spanOf(to))
      lists.set(key, known)
      return known
    },
    last(arm, instrument, from, to) {
      const edge = { ts: to, seq: Number.MAX_SAFE_INTEGER }
      const found = lastBefore(groups, arm.feed, instrument, edge, from)
      return found && refOf(found.view, found.index, arm.rank)
    },
  }
}
