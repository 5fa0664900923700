import { type Feed, feedName } from '../../core/feed.ts'
import type { Coverage, Span } from '../coverage.ts'
import type { Finality } from '../series.ts'

/**
 * Remembers observed spans of final time, which stay valid while the feed's epoch is the same. Most pages of history
 * lie within one such span, so nothing has to be read for them.
 */
interface ObservedSpans {
  /** The coverage of [from, to) if it is known to be complete; only for a single feed. */
  find(finality: readonly Finality[], from: number, to: number): Coverage | undefined
  /** The same, but reads it if it is not known. `finality` must come from the snapshot that `read` reads. */
  read(finality: readonly Finality[], from: number, to: number, read: ReadCoverage): Coverage
}

type ReadCoverage = (feeds: readonly Feed[], from: number, to: number) => Coverage

/** How far around a page coverage is read, so that the neighbouring pages are known as well. */
const AROUND_MS = 7 * 86_400_000
const MAX_FEEDS = 10_000

export function observedSpans(): ObservedSpans {
  const known = new Map<string, Span & { epoch: number }>()
  const whole = (from: number, to: number): Coverage => ({
    complete: true,
    observed: [{ from, to }],
    gaps: [],
  })

  const onlyFinal = (finality: readonly Finality[], from: number, to: number): Finality | undefined => {
    const final = finality.length === 1 ? finality[0] : undefined
    return final !== undefined && from < to && to <= final.before ? final : undefined
  }

  const find: ObservedSpans['find'] = (finality, from, to) => {
    const final = onlyFinal(finality, from, to)
    if (final === undefined) return undefined
    const span = known.get(feedName(final.feed))
    const isInside = span?.epoch === final.epoch && span.from <= from && to <= span.to
    return isInside ? whole(from, to) : undefined
  }

  /** A span that touches the known one extends it, so that eventually all of a long history is known. */
  const remember = ({ feed, epoch }: Finality, span: Span) => {
    const name = feedName(feed)
    const old = known.get(name)
    if (old === undefined && known.size >= MAX_FEEDS) known.clear()
    const touches = old?.epoch === epoch && old.from <= span.to && span.from <= old.to
    known.set(
      name,
      touches
        ? { from: Math.min(old.from, span.from), to: Math.max(old.to, span.to), epoch }
        : { ...span, epoch },
    )
  }

  return {
    find,
    read(finality, from, to, read) {
      const found = find(finality, from, to)
      if (found !== undefined) return found
      const final = onlyFinal(finality, from, to)
      if (final !== undefined) {
        const around = read([final.feed], from - AROUND_MS, Math.min(to + AROUND_MS, final.before))
        const span = around.observed.find((part) => part.from <= from && to <= part.to)
        if (span !== undefined) {
          remember(final, span)
          return whole(from, to)
        }
      }
      return read(
        finality.map(({ feed }) => feed),
        from,
        to,
      )
    },
  }
}
