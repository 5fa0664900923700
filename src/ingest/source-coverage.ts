/** Coverage of each dataset of a source: first and last observed instant, and the last 24 hours in parts. */
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { type Dataset, type Feed, feedName } from '../core/feed.ts'
import { INTERVAL_MS } from '../core/interval.ts'
import type { Source } from '../core/source.ts'
import { type AssetSymbol, SYMBOLS } from '../core/symbol.ts'
import { DAY_MS } from '../core/time.ts'
import type { Clock } from '../kit/clock.ts'
import type { CoverageStore, Gap } from '../store/coverage.ts'
import { VENUE_NAMES, VENUES } from '../venues/list.ts'
import type { RecordingPlan } from '../venues/plan.ts'
import { ORACLE_INTERVALS } from './oracle/close-oracle-candles.ts'
import { trackedMarketFeeds } from './prediction/market-feeds.ts'
import { candleFeed, trackedFeeds } from './shared/feeds.ts'

export interface DatasetCoverage {
  readonly dataset: Dataset
  /** The dataset's finest interval; null if it has no intervals. */
  readonly interval: string | null
  /** First and last observed instant; null before the first record. */
  readonly fromMs: number | null
  readonly toMs: number | null
  /** The last 24 hours in equal parts: the observed share of each; null before the first record. */
  readonly strip: readonly (number | null)[]
}

export type SourceCoverage = (source: Source) => Promise<readonly DatasetCoverage[]>

const PARTS = 48
const PART_MS = DAY_MS / PARTS
/** Recorders write their coverage with a delay, so the strip ends this long before the present. */
const UNDER_WAY_MS = 90_000
/** Several pages and callers may ask at the same time. */
const FRESH_MS = 5_000
/** Coverage before the last day changes only during a backfill. */
const PAST_FRESH_MS = 30_000

/** A feed's first and last observed instant; undefined before the first record. */
type Observed = { readonly fromMs: number; readonly toMs: number } | undefined

export function createSourceCoverage(deps: { coverage: CoverageStore; clock: Clock }): SourceCoverage {
  const { coverage, clock } = deps
  const known = new Map<Source, { datasets: Promise<readonly DatasetCoverage[]>; atMs: number }>()
  const pasts = new Map<string, { observed: Observed; atMs: number }>()

  async function pastOf(feed: Feed, beforeMs: number): Promise<Observed> {
    const name = feedName(feed)
    const entry = pasts.get(name)
    if (entry !== undefined && clock.now() - entry.atMs < PAST_FRESH_MS) return entry.observed
    const { observed: spans } = await coverage.read([feed], 0, beforeMs)
    const observed = joined(spans)
    // An empty result is not cached, because it is cheap to read and changes with the first backfill.
    if (observed !== undefined) pasts.set(name, { observed, atMs: clock.now() })
    return observed
  }

  async function read(source: Source): Promise<readonly DatasetCoverage[]> {
    const nowMs = clock.now()
    const stripToMs = nowMs - UNDER_WAY_MS
    const fromMs = stripToMs - DAY_MS
    const found: DatasetCoverage[] = []
    for (const { dataset, interval, feeds } of datasetsOf(source)) {
      const parts: FeedDay[] = []
      for (const feed of feeds) {
        const day = await coverage.read([feed], fromMs, nowMs)
        const observed = joined([await pastOf(feed, fromMs), joined(day.observed)].flatMap(spanOf))
        parts.push({ observed, gaps: day.gaps })
      }
      const whole = joined(parts.flatMap(({ observed }) => spanOf(observed)))
      found.push({
        dataset,
        interval,
        fromMs: whole?.fromMs ?? null,
        toMs: whole?.toMs ?? null,
        strip: stripOf(parts, fromMs),
      })
      // Yields because this thread also serves requests.
      await yieldToOthers()
    }
    return found
  }

  return (source) => {
    const entry = known.get(source)
    if (entry !== undefined && clock.now() - entry.atMs < FRESH_MS) return entry.datasets
    const asked = { datasets: read(source), atMs: clock.now() }
    // A failed read is not cached, so that the next reader tries again.
    asked.datasets.catch(() => {
      if (known.get(source) === asked) known.delete(source)
    })
    known.set(source, asked)
    return asked.datasets
  }
}

const spanOf = (observed: Observed) =>
  observed === undefined ? [] : [{ from: observed.fromMs, to: observed.toMs }]

function joined(spans: readonly { from: number; to: number }[]): Observed {
  if (spans.length === 0) return undefined
  return {
    fromMs: Math.min(...spans.map(({ from }) => from)),
    toMs: Math.max(...spans.map(({ to }) => to)),
  }
}

interface DatasetFeeds {
  readonly dataset: Dataset
  readonly interval: string | null
  readonly feeds: readonly Feed[]
}

/** The datasets of a source according to its plan; 1s candles are listed separately from the other candles. */
export function datasetsOf(source: Source): DatasetFeeds[] {
  const groups = Map.groupBy(feedsOf(source), ({ dataset, interval }) =>
    dataset === 'candles' && interval === '1s' ? 'candles 1s' : dataset,
  )
  return [...groups.values()].flatMap((feeds): DatasetFeeds[] => {
    const [first] = feeds
    if (first === undefined) return []
    const { dataset } = first
    // The interval of a snapshot feed is the duration of its markets. Other intervals are built from the finest one.
    if (dataset === 'snapshots') return [{ dataset, interval: null, feeds }]
    const finest = Math.min(...feeds.map(lengthOf))
    const chosen = feeds.filter((feed) => lengthOf(feed) === finest)
    return [{ dataset, interval: chosen[0]?.interval || null, feeds: chosen }]
  })
}

const lengthOf = ({ interval }: Feed) => (interval === '' ? 0 : INTERVAL_MS[interval])

function feedsOf(source: Source): Feed[] {
  const plans: readonly RecordingPlan[] = VENUE_NAMES.map((name) => VENUES[name].plan)
  const own = plans.filter((plan) => plan.source === source)
  return own.flatMap((plan) => SYMBOLS.flatMap((symbol) => feedsOfPlan(plan, symbol)))
}

function feedsOfPlan(plan: RecordingPlan, symbol: AssetSymbol): Feed[] {
  switch (plan.kind) {
    case 'exchange':
      return trackedFeeds(plan, symbol).map(({ feed }) => feed)
    case 'markets':
      return trackedMarketFeeds(plan, symbol).map(({ feed }) => feed)
    case 'oracle':
      return ORACLE_INTERVALS.map((interval) => candleFeed(plan.source, symbol, interval))
  }
}

/** A day of one feed. */
export interface FeedDay {
  readonly observed: Observed
  readonly gaps: readonly Gap[]
}

/**
 * The share of each part that no feed missed; overlapping gaps of several feeds count once. Time before a feed's first
 * record never counts as missed, even if a gap was recorded for it.
 */
export function stripOf(feeds: readonly FeedDay[], fromMs: number): (number | null)[] {
  const begun = feeds.flatMap(({ observed, gaps }) => (observed ? [{ startMs: observed.fromMs, gaps }] : []))
  const missed = begun
    .flatMap(({ startMs, gaps }) =>
      gaps
        .filter(({ reason }) => reason === 'not_observed' || reason === 'venue_down')
        .map(({ from, to }) => ({ from: Math.max(from, startMs), to })),
    )
    .toSorted((a, b) => a.from - b.from)
  const firstMs = Math.min(...begun.map(({ startMs }) => startMs))
  return Array.from({ length: PARTS }, (_, index) => {
    const from = fromMs + index * PART_MS
    const to = from + PART_MS
    if (!(firstMs < to) || isNotProvided(begun, from, to)) return null
    return Math.round(Math.max(0, 1 - overlap(missed, from, to) / PART_MS) * 1000) / 1000
  })
}

const isNotProvided = (feeds: readonly { gaps: readonly Gap[] }[], from: number, to: number) =>
  feeds.every(({ gaps }) =>
    gaps.some((gap) => gap.reason === 'not_provided' && gap.from <= from && gap.to >= to),
  )

/** Length of the union of spans inside a range; the spans are sorted by their start. */
function overlap(spans: readonly { from: number; to: number }[], from: number, to: number): number {
  let reached = from
  let sum = 0
  for (const span of spans) {
    const start = Math.max(span.from, reached)
    const end = Math.min(span.to, to)
    if (end <= start) continue
    sum += end - start
    reached = end
  }
  return sum
}
