/** Random choices, from an injected source of numbers in [0, 1). */
import type { Feed } from '../../core/feed.ts'
import type { Clock } from '../../kit/clock.ts'
import type { SeriesStore } from '../../store/series.ts'
import type { HistoryRange } from '../../venues/venue.ts'

/** More recent data may not be in a venue's answers yet. */
const SETTLED_AFTER_MS = 15 * 60_000
/** Half of the ranges are more recent than this, because recent data is read most. */
const RECENT_MS = 6 * 3_600_000

export function pick<T>(list: readonly T[], random: () => number): T | undefined {
  return list[Math.floor(random() * list.length)]
}

/**
 * A random range of a feed that is stored, final and settled, and not further back than the venue's history reaches.
 */
export async function drawRange(
  parts: {
    readonly series: Pick<SeriesStore, 'feeds'>
    readonly clock: Clock
    readonly random: () => number
  },
  { dataset, source, symbol, interval }: Feed,
  lengthMs: number,
  stepMs: number,
  reachMs = Number.POSITIVE_INFINITY,
): Promise<HistoryRange | undefined> {
  const { series, clock, random } = parts
  const [info] = await series.feeds({ dataset, source, symbol, interval })
  if (info?.firstTs === undefined) return undefined
  const toMs = Math.min(info.before, clock.now() - SETTLED_AFTER_MS)
  const backMs = random() < 0.5 ? RECENT_MS + lengthMs : Number.POSITIVE_INFINITY
  const fromMs = Math.max(info.firstTs, toMs - backMs, clock.now() - reachMs)
  const first = Math.ceil(fromMs / stepMs)
  const last = Math.floor((toMs - lengthMs) / stepMs)
  if (last < first) return undefined
  const startMs = (first + Math.floor(random() * (last - first + 1))) * stepMs
  return { fromMs: startMs, toMs: startMs + lengthMs }
}
