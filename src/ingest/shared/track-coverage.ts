/**
 * What was observed, per stored feed, recorded as it happens.
 *
 *   a feed is observed while all its channels are up:
 *
 *     down ──every channel up──▶ covering: each tick records up to the present
 *      ▲                            │
 *      ╰── a channel failed at t ───╯  what was recorded after t is retracted; t … recovery is a gap
 *
 * A venue's own answer about the past (`confirm`) overrides everything received live: it is never retracted, and
 * it closes gaps.
 */
import { type Feed, feedName } from '../../core/feed.ts'
import { type CoverageStore, type GapReason, gap, gapUnlessKnown } from '../../store/coverage.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { uncovered } from './uncovered.ts'
import type { RowWriter } from './write-rows.ts'

export interface TrackedFeed {
  readonly feed: Feed
  /** Keys of the channels that feed it. */
  readonly channels: readonly string[]
}

export interface CoverageTracker {
  /** The channel delivers from this instant on. */
  up(channel: string, atMs: number): void
  /** Nothing of the channel was received from this instant on. */
  failed(channel: string, fromMs: number, reason: GapReason): void
  isUp(channel: string): boolean
  /** Records the time up to an instant as observed, for every feed that is up. */
  claim(toMs: number): void
  /** The venue has answered for this range: nothing is missing in it. */
  confirm(feed: Feed, fromMs: number, toMs: number): void
  /** A range that was recorded as observed turned out to be missing. */
  lost(feed: Feed, fromMs: number, toMs: number, reason: GapReason): void
  /** As `lost`, where a gap that is known already keeps its reason. */
  unproven(feed: Feed, fromMs: number, toMs: number): void
  /** Nothing of a feed after this instant is known to be complete: coverage ends here. */
  limit(feed: Feed, toMs: number): void
  /** As `limit`, for all feeds of a channel: one that is polled is observed up to its last answer. */
  limitChannel(channel: string, toMs: number): void
  /** The venue does not provide this range. */
  missing(feed: Feed, fromMs: number, toMs: number, reason: GapReason): void
  /** As `missing`, for what is neither observed nor a known gap. */
  unlessKnown(feed: Feed, fromMs: number, toMs: number, reason: GapReason): void
  /** Everything of a channel in a range may be incomplete; what a venue confirmed stays. */
  doubt(channel: string, fromMs: number, toMs: number): void
  stats(): { feeds: number; covering: number; gaps: number }
}

interface State extends TrackedFeed {
  isCovering: boolean
  coveredToMs: number
  confirmedToMs: number
  limitMs: number
  gap: { fromMs: number; reason: GapReason } | undefined
  /** Ranges that are left out when coverage reaches them. */
  doubts: HistoryRange[]
  /** Stretches that were lost for a reason of their own, ascending: a gap around them does not take its place. */
  lost: HistoryRange[]
}

/** The newest of them are remembered: a gap that is open reaches back hours, not days. */
const MAX_LOST = 1_000

export function createCoverageTracker(options: {
  feeds: readonly TrackedFeed[]
  coverage: CoverageStore
  writer: Pick<RowWriter, 'change' | 'gap' | 'observed' | 'unobserved'>
}): CoverageTracker {
  const { coverage, writer } = options
  const states = options.feeds.map(
    (tracked): State => ({
      ...tracked,
      isCovering: false,
      coveredToMs: 0,
      confirmedToMs: 0,
      limitMs: Number.POSITIVE_INFINITY,
      gap: undefined,
      doubts: [],
      lost: [],
    }),
  )
  const byName = new Map(states.map((state) => [feedName(state.feed), state]))
  const upChannels = new Set<string>()
  const channelLimits = new Map<string, number>()
  let gaps = 0

  const record = (feed: Feed, fromMs: number, toMs: number) => writer.observed(feed, fromMs, toMs)
  const recordGap = (feed: Feed, fromMs: number, toMs: number, reason: GapReason) => {
    writer.gap(feed, fromMs, toMs, reason)
  }
  const retract = (feed: Feed, fromMs: number, toMs: number) => writer.unobserved(feed, fromMs, toMs)

  function recordOpenGap({ feed, gap, lost }: State, toMs: number): void {
    if (gap === undefined) return
    for (const piece of uncovered({ fromMs: gap.fromMs, toMs }, lost))
      recordGap(feed, piece.fromMs, piece.toMs, gap.reason)
  }

  /** What is known to be missing is not covered later on either. */
  function leaveOut(state: State, fromMs: number, toMs: number): void {
    if (toMs <= state.coveredToMs) return
    state.doubts.push({ fromMs, toMs })
    state.doubts.sort((a, b) => a.fromMs - b.fromMs)
  }

  const limitOf = ({ channels }: State) =>
    Math.min(...channels.map((channel) => channelLimits.get(channel) ?? Number.POSITIVE_INFINITY))

  function coverTo(state: State, wantedMs: number): void {
    const toMs = Math.min(wantedMs, state.limitMs, limitOf(state))
    for (const doubt of state.doubts) {
      record(state.feed, state.coveredToMs, Math.min(doubt.fromMs, toMs))
      if (doubt.fromMs < toMs) state.coveredToMs = Math.max(state.coveredToMs, doubt.toMs)
    }
    record(state.feed, state.coveredToMs, toMs)
    state.coveredToMs = Math.max(state.coveredToMs, toMs)
    state.doubts = state.doubts.filter((doubt) => doubt.toMs > toMs)
  }

  function begin(state: State, atMs: number): void {
    state.isCovering = true
    state.coveredToMs = Math.max(atMs, state.confirmedToMs)
    recordOpenGap(state, atMs)
    state.gap = undefined
  }

  function end(state: State, fromMs: number, reason: GapReason): void {
    const startMs = Math.max(Math.min(fromMs, limitOf(state)), state.confirmedToMs)
    if (state.isCovering) {
      const coveredMs = state.coveredToMs
      coverTo(state, startMs)
      retract(state.feed, startMs, coveredMs)
      gaps += 1
      state.gap = { fromMs: startMs, reason }
    } else if (state.gap !== undefined && startMs < state.gap.fromMs) {
      retract(state.feed, startMs, state.gap.fromMs)
      state.gap = { fromMs: startMs, reason: state.gap.reason }
    }
    state.isCovering = false
  }

  return {
    up(channel, atMs) {
      if (upChannels.has(channel)) return
      upChannels.add(channel)
      for (const state of states) {
        if (!state.channels.includes(channel) || state.isCovering) continue
        if (state.channels.every((key) => upChannels.has(key))) begin(state, atMs)
      }
    },
    failed(channel, fromMs, reason) {
      upChannels.delete(channel)
      for (const state of states) if (state.channels.includes(channel)) end(state, fromMs, reason)
    },
    isUp: (channel) => upChannels.has(channel),
    claim(toMs) {
      for (const state of states) {
        if (state.isCovering) coverTo(state, toMs)
        else recordOpenGap(state, toMs)
      }
    },
    confirm(feed, fromMs, toMs) {
      writer.observed(feed, fromMs, toMs, true)
      const state = byName.get(feedName(feed))
      if (state === undefined) return
      state.confirmedToMs = Math.max(state.confirmedToMs, toMs)
      if (state.gap !== undefined && state.gap.fromMs < toMs)
        state.gap = { fromMs: toMs, reason: state.gap.reason }
    },
    missing: recordGap,
    unlessKnown(feed, fromMs, toMs, reason) {
      writer.change(async () => {
        const { gaps: known } = await coverage.read([feed], fromMs, toMs)
        return known
          .filter(
            (each) =>
              each.reason === 'before_start' ||
              (each.reason === 'not_observed' && each.from === fromMs && each.to === toMs),
          )
          .map(({ from, to }) => gap(feed, from, to, reason))
      })
    },
    lost(feed, fromMs, toMs, reason) {
      gaps += 1
      retract(feed, fromMs, toMs)
      recordGap(feed, fromMs, toMs, reason)
      const state = byName.get(feedName(feed))
      if (state === undefined) return
      state.lost = [...state.lost, { fromMs, toMs }].sort((a, b) => a.fromMs - b.fromMs).slice(-MAX_LOST)
      if (state.isCovering) leaveOut(state, fromMs, toMs)
    },
    unproven(feed, fromMs, toMs) {
      if (toMs <= fromMs) return
      gaps += 1
      retract(feed, fromMs, toMs)
      writer.change(() => [gapUnlessKnown(feed, fromMs, toMs, 'not_observed')])
      const state = byName.get(feedName(feed))
      if (state?.isCovering === true) leaveOut(state, fromMs, toMs)
    },
    limit(feed, toMs) {
      const state = byName.get(feedName(feed))
      if (state !== undefined) state.limitMs = toMs
    },
    limitChannel: (channel, toMs) => void channelLimits.set(channel, toMs),
    doubt(channel, fromMs, toMs) {
      for (const state of states) {
        if (!state.channels.includes(channel) || !state.isCovering) continue
        const startMs = Math.max(fromMs, state.confirmedToMs)
        if (toMs <= startMs) continue
        gaps += 1
        retract(state.feed, startMs, Math.min(toMs, state.coveredToMs))
        recordGap(state.feed, startMs, toMs, 'not_observed')
        leaveOut(state, startMs, toMs)
      }
    },
    stats: () => ({
      feeds: states.length,
      covering: states.filter((state) => state.isCovering).length,
      gaps,
    }),
  }
}
