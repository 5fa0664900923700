/**
 * Tracks what is observed of each stored feed and records it as it happens. A feed is observed while all its channels
 * are up; feed-coverage.ts describes the states of a feed.
 */
import { type Feed, feedName } from '../../core/feed.ts'
import { type CoverageStore, type GapReason, gap, gapUnlessKnown } from '../../store/coverage.ts'
import { FeedCoverage, type TrackedFeed } from './feed-coverage.ts'
import type { RowWriter } from './write-rows.ts'

export type CoverageTracker = ReturnType<typeof createCoverageTracker>

export function createCoverageTracker(options: {
  feeds: readonly TrackedFeed[]
  coverage: CoverageStore
  writer: Pick<RowWriter, 'change' | 'gap' | 'observed' | 'unobserved'>
}) {
  const { coverage, writer } = options
  const feeds = options.feeds.map((tracked) => new FeedCoverage(tracked, writer))
  const byName = new Map(feeds.map((each) => [feedName(each.feed), each]))
  const upChannels = new Set<string>()
  const channelLimits = new Map<string, number>()
  let gaps = 0
  let venueAheadMs = 0

  const ofChannel = (channel: string) => feeds.filter(({ channels }) => channels.includes(channel))
  const channelLimit = ({ channels }: FeedCoverage) => {
    let limitMs = Number.POSITIVE_INFINITY
    for (const channel of channels) limitMs = Math.min(limitMs, channelLimits.get(channel) ?? limitMs)
    return limitMs
  }

  return {
    /** The channel delivers from this instant on. */
    up(channel: string, atMs: number) {
      if (upChannels.has(channel)) return
      upChannels.add(channel)
      for (const each of ofChannel(channel))
        if (!each.isCovering && each.channels.every((key) => upChannels.has(key))) each.begin(atMs)
    },
    /** Nothing of the channel has been received since this instant. */
    failed(channel: string, fromMs: number, reason: GapReason) {
      upChannels.delete(channel)
      for (const each of ofChannel(channel)) {
        if (each.isCovering) gaps += 1
        each.fail(fromMs, reason, channelLimit(each), venueAheadMs)
      }
    },
    isUp: (channel: string) => upChannels.has(channel),
    /**
     * Records the time up to an instant as observed, for every feed that is up. `aheadMs`: how far the venue's clock is
     * ahead of ours.
     */
    coverTo(toMs: number, aheadMs = 0) {
      venueAheadMs = aheadMs
      for (const each of feeds) {
        if (each.isCovering) each.coverTo(toMs, channelLimit(each), aheadMs)
        else each.recordOpenGap(toMs)
      }
    },
    /** The venue has answered for this range: nothing is missing in it. */
    confirm(feed: Feed, fromMs: number, toMs: number) {
      writer.observed(feed, fromMs, toMs, true)
      byName.get(feedName(feed))?.confirmed(toMs)
    },
    /** Records a gap; time that was observed stays observed. */
    missing: (feed: Feed, fromMs: number, toMs: number, reason: GapReason) =>
      writer.gap(feed, fromMs, toMs, reason),
    /** Like `missing`, but only for time that is neither observed nor already a recorded gap. */
    unlessKnown(feed: Feed, fromMs: number, toMs: number, reason: GapReason) {
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
    /** A range that was recorded as observed turned out to be missing. */
    lost(feed: Feed, fromMs: number, toMs: number, reason: GapReason) {
      gaps += 1
      writer.unobserved(feed, fromMs, toMs)
      writer.gap(feed, fromMs, toMs, reason)
      byName.get(feedName(feed))?.lost({ fromMs, toMs })
    },
    /** Like `lost`, but a gap that is already recorded keeps its reason. */
    unproven(feed: Feed, fromMs: number, toMs: number) {
      if (toMs <= fromMs) return
      gaps += 1
      writer.unobserved(feed, fromMs, toMs)
      writer.change(() => [gapUnlessKnown(feed, fromMs, toMs, 'not_observed')])
      byName.get(feedName(feed))?.leaveOut({ fromMs, toMs })
    },
    /**
     * Data of this range is known to be missing and will be requested; like `unproven`, but `received` closes the gap
     * of what lacked nothing else. Only for time since the start.
     */
    unreceived(feed: Feed, fromMs: number, toMs: number) {
      if (toMs <= fromMs || byName.get(feedName(feed))?.unreceived({ fromMs, toMs }) === false) return
      gaps += 1
      writer.unobserved(feed, fromMs, toMs)
      writer.change(() => [gapUnlessKnown(feed, fromMs, toMs, 'not_observed')])
    },
    received: (feed: Feed, fromMs: number, toMs: number) =>
      byName.get(feedName(feed))?.received({ fromMs, toMs }),
    /**
     * The instant up to which a feed counts as observed; just after its channels came up, the instant from which it
     * will.
     */
    coveredTo: (feed: Feed) => byName.get(feedName(feed))?.coveredTo ?? 0,
    /** Nothing of a feed after this instant is known to be complete: coverage ends here. */
    limit: (feed: Feed, toMs: number) => byName.get(feedName(feed))?.limit(toMs),
    /**
     * Nothing of a feed before this instant is known to be complete, although its channels were up: coverage begins
     * here.
     */
    startAt: (feed: Feed, atMs: number) => byName.get(feedName(feed))?.startAt(atMs),
    /** Like `limit`, for all feeds of a channel: a polled channel is observed up to its last answer. */
    limitChannel: (channel: string, toMs: number) => void channelLimits.set(channel, toMs),
    /** Data of a channel in this range may be incomplete; what the venue has confirmed stays observed. */
    doubt(channel: string, fromMs: number, toMs: number) {
      for (const each of ofChannel(channel)) if (each.doubt({ fromMs, toMs })) gaps += 1
    },
    stats: () => ({
      feeds: feeds.length,
      covering: feeds.filter(({ isCovering }) => isCovering).length,
      gaps,
    }),
  }
}
