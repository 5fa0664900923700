/**
 * The gaps of each source by UTC day. Closed days change only when a backfill closes a gap, so they are read again
 * every few hours; the last two days are read every time. One day of one feed is read at a time and the thread yields
 * in between, because a feed with a gap every minute has thousands of spans a day.
 */
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { type Dataset, type Feed, feedName } from '../core/feed.ts'
import type { Source } from '../core/source.ts'
import { DAY_MS } from '../core/time.ts'
import type { Clock } from '../kit/clock.ts'
import type { CoverageStore, Span } from '../store/coverage.ts'
import { datasetsOf } from './source-coverage.ts'

interface DayGaps {
  /** Time of the day during which at least one feed of the source was not recorded. */
  readonly missedMs: number
  /** Length of the part of the day after the first record and before the present. */
  readonly lengthMs: number
}

interface SourceGaps {
  readonly source: Source
  /** Oldest first, today last; null for days before the first record. */
  readonly days: readonly (DayGaps | null)[]
  readonly datasets: readonly {
    readonly dataset: Dataset
    readonly interval: string | null
    readonly missedMs: number
  }[]
}

export type GapHistory = (sources: readonly Source[]) => Promise<readonly SourceGaps[]>

export const HISTORY_DAYS = 90
const CLOSED_DAYS_FRESH_MS = 6 * 3_600_000
/** Days that are read every time. */
const OPEN_DAYS = 2
/** Recorders write their coverage with a delay, so the history ends this long before the present. */
const UNDER_WAY_MS = 90_000

/** The time missed on one day, per dataset and for the source as a whole. */
interface SourceDay {
  readonly datasetsMs: readonly number[]
  readonly missedMs: number
  /** The first observed instant of the source, as far as it is known. */
  readonly startMs: number
}

interface KnownSource {
  readonly days: Map<number, SourceDay | null>
  /** The first observed instant of each feed, as far as it lies in the days that were read. */
  readonly starts: Map<string, number>
  closedAtMs: number
}

export function createGapHistory(deps: { coverage: CoverageStore; clock: Clock }): GapHistory {
  const { coverage, clock } = deps
  const known = new Map<Source, KnownSource>()

  /** A feed's gaps in a range, without those before its first record. */
  async function missedOf(feed: Feed, from: number, to: number, starts: Map<string, number>) {
    const name = feedName(feed)
    const { observed, gaps } = await coverage.read([feed], from, to)
    const startMs = starts.get(name) ?? observed[0]?.from
    if (startMs === undefined) return undefined
    starts.set(name, startMs)
    const missed = gaps
      .filter(({ reason }) => reason === 'not_observed' || reason === 'venue_down')
      .map((gap) => ({ from: Math.max(gap.from, startMs), to: gap.to }))
      .filter((gap) => gap.from < gap.to)
    return { startMs, missed }
  }

  async function readDays(source: Source, range: { from: number; to: number }, into: KnownSource) {
    const datasets = datasetsOf(source)
    for (let from = range.from; from < range.to; from += DAY_MS) {
      const to = Math.min(from + DAY_MS, range.to)
      const missed: Span[][] = []
      let startMs = Number.POSITIVE_INFINITY
      for (const { feeds } of datasets) {
        const spans: Span[] = []
        for (const feed of feeds) {
          const own = await missedOf(feed, from, to, into.starts)
          await yieldToOthers()
          if (own === undefined) continue
          startMs = Math.min(startMs, own.startMs)
          for (const gap of own.missed) spans.push(gap)
        }
        missed.push(union(spans))
      }
      const datasetsMs = missed.map(lengthOf)
      const missedMs = lengthOf(union(missed.flat()))
      into.days.set(from, startMs < to ? { datasetsMs, missedMs, startMs } : null)
    }
  }

  async function read(source: Source): Promise<SourceGaps> {
    const nowMs = clock.now()
    const toMs = nowMs - UNDER_WAY_MS
    const today = Math.floor(toMs / DAY_MS) * DAY_MS
    const first = today - (HISTORY_DAYS - 1) * DAY_MS
    let entry = known.get(source)
    if (entry === undefined || nowMs - entry.closedAtMs >= CLOSED_DAYS_FRESH_MS) {
      entry = { days: new Map(), starts: new Map(), closedAtMs: nowMs }
      await findEarlierStarts(source, first, entry.starts)
      await readDays(source, { from: first, to: toMs }, entry)
      known.set(source, entry)
    } else {
      for (const day of entry.days.keys()) if (day < first) entry.days.delete(day)
      const newest = Math.max(...entry.days.keys())
      await readDays(source, { from: Math.min(newest, today) - (OPEN_DAYS - 1) * DAY_MS, to: toMs }, entry)
    }
    return summed(source, entry.days, { first, toMs })
  }

  /** A feed that was recorded before the first day has already started, so all its gaps in the range count. */
  async function findEarlierStarts(source: Source, firstMs: number, starts: Map<string, number>) {
    for (const feed of datasetsOf(source).flatMap(({ feeds }) => feeds)) {
      const { complete, gaps } = await coverage.read([feed], firstMs - 1, firstMs)
      const isMissed = gaps.some(({ reason }) => reason === 'not_observed' || reason === 'venue_down')
      if (complete || (isMissed && (await wasObserved(feed)))) starts.set(feedName(feed), firstMs)
      await yieldToOthers()
    }
  }

  /** The store reports the time before all data as `before_start` only if the feed was ever observed. */
  async function wasObserved(feed: Feed): Promise<boolean> {
    const { gaps } = await coverage.read([feed], 0, 1)
    return gaps.some(({ reason }) => reason === 'before_start')
  }

  return async (sources) => {
    const found: SourceGaps[] = []
    for (const source of sources) found.push(await read(source))
    return found
  }
}

function summed(
  source: Source,
  days: KnownSource['days'],
  { first, toMs }: { first: number; toMs: number },
): SourceGaps {
  const datasets = datasetsOf(source).map(({ dataset, interval }) => ({ dataset, interval, missedMs: 0 }))
  const shown: (DayGaps | null)[] = []
  for (let day = first; day < toMs; day += DAY_MS) {
    const found = days.get(day) ?? null
    for (const [index, missedMs] of (found?.datasetsMs ?? []).entries()) {
      const dataset = datasets[index]
      if (dataset !== undefined) dataset.missedMs += missedMs
    }
    const endMs = Math.min(day + DAY_MS, toMs)
    shown.push(found && { missedMs: found.missedMs, lengthMs: endMs - Math.max(day, found.startMs) })
  }
  return { source, days: shown, datasets }
}

function union(spans: readonly Span[]): Span[] {
  const joined: Span[] = []
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last !== undefined && span.from <= last.to) last.to = Math.max(last.to, span.to)
    else joined.push({ ...span })
  }
  return joined
}

/** The spans must not overlap. */
function lengthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { from, to }) => sum + to - from, 0)
}
