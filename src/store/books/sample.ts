import type { Arm } from '../order/arms.ts'
import type { Samples } from '../order/sample.ts'
import type { RestingWork } from '../rows/work-in-turns.ts'
import { spanOf } from './block.ts'
import { type GroupReader, type GroupView, lastBefore, lowerBound } from './group.ts'
import { type BookRef, refOf } from './walk.ts'

/**
 * A group with the index at which the previous step left it; from step to step it moves by a few rows, usually by none.
 */
interface OpenView {
  readonly view: GroupView
  at: number | undefined
}

/** Samples of grouped snapshots for one query. Neighbouring steps lie in the same spans, which are opened once. */
export function bookSamples(groups: GroupReader): Samples<BookRef> {
  const lists = new Map<string, string[]>()
  const spans = new Map<string, OpenView[]>()
  const nearestSpans = new Map<string, { asked: number; found: number | undefined }>()

  const instruments = (feed: number, from: number, to: number): string[] => {
    const key = `${feed}/${from}/${to}`
    const known = lists.get(key) ?? groups.instruments(feed, from, to)
    lists.set(key, known)
    return known
  }

  const nearestSpan = ({ feed, instrument }: Arm, order: 'asc' | 'desc', span: number) => {
    const key = nameOf(feed, instrument)
    const known = nearestSpans.get(key)
    const sign = order === 'asc' ? 1 : -1
    const isBetween = (a: number, b: number) => (span - a) * sign >= 0 && (b - span) * sign >= 0
    if (known !== undefined && isBetween(known.asked, known.found ?? sign * Number.POSITIVE_INFINITY))
      return known.found
    const found = groups.nearestSpan(feed, instrument, order, span)
    nearestSpans.set(key, { asked: span, found })
    return found
  }

  function* openViews({ feed, instrument }: Arm, span: number): RestingWork<OpenView[]> {
    const key = `${span}/${nameOf(feed, instrument)}`
    const known = spans.get(key)
    if (known !== undefined) return known
    const views =
      instrument === undefined
        ? yield* groups.viewsInTurns(feed, span)
        : [groups.view(feed, span, instrument)]
    const opened = views.filter((view) => view !== undefined).map((view) => ({ view, at: undefined }))
    spans.set(key, opened)
    return opened
  }

  /** For steps that touch one or two spans, from their opened groups. */
  function* lastsOfViews(arm: Arm, from: number, to: number): RestingWork<BookRef[]> {
    const found = new Map<string, BookRef>()
    for (let span = spanOf(to); span >= spanOf(from); span--) {
      for (const open of yield* openViews(arm, span)) {
        const { view } = open
        const index = lastUpTo(open, to)
        if ((view.ts[index] ?? -1) < from || found.has(view.instrument)) continue
        found.set(view.instrument, refOf(view, index, arm.rank))
      }
    }
    return [...found.values()]
  }

  return {
    *nearest(arm, order, from, to) {
      const ascending = order === 'asc'
      let span: number | undefined = spanOf(ascending ? from : to)
      for (;;) {
        span = nearestSpan(arm, order, span)
        if (span === undefined || (ascending ? span > spanOf(to) : span < spanOf(from))) return undefined
        let best: number | undefined
        for (const open of yield* openViews(arm, span)) {
          const ts = open.view.ts[ascending ? lastUpTo(open, from - 1) + 1 : lastUpTo(open, to)]
          if (ts === undefined || ts < from || ts > to) continue
          if (best === undefined || (ascending ? ts < best : ts > best)) best = ts
        }
        if (best !== undefined) return best
        span += ascending ? 1 : -1
      }
    },
    *lasts(arm, from, to) {
      const [low, high] = [spanOf(from), spanOf(to)]
      if (low === high) return yield* lastsOfViews(arm, from, to)
      // Called even if the list is not used, because on PostgreSQL it ensures that the listing contains all spans of
      // the step.
      const active = arm.instrument === undefined ? instruments(arm.feed, low, high) : [arm.instrument]
      if (high - low === 1) return yield* lastsOfViews(arm, from, to)
      // A long step needs only the last group of each instrument, so most groups need not be opened.
      const found: BookRef[] = []
      const edge = { ts: to, seq: Number.MAX_SAFE_INTEGER }
      for (const instrument of active) {
        const last = lastBefore(groups, arm.feed, instrument, edge, from)
        if (last !== undefined) found.push(refOf(last.view, last.index, arm.rank))
        yield
      }
      return found
    },
  }
}

const nameOf = (feed: number, instrument: string | undefined) =>
  instrument === undefined ? `${feed}` : `${feed}/${instrument}`

/** The index of the last row at or before a time; -1 if there is none. */
function lastUpTo(open: OpenView, to: number): number {
  const { ts } = open.view
  let at = open.at ?? lowerBound(ts, to + 1) - 1
  while (at + 1 < ts.length && (ts[at + 1] ?? 0) <= to) at++
  while (at >= 0 && (ts[at] ?? 0) > to) at--
  open.at = at
  return at
}
