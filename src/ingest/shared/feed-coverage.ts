/**
 * The coverage of one feed.
 *
 *   down ──every channel up──▶ covering: each tick records up to the present
 *    ▲                            │
 *    ╰── a channel failed at t ───╯  coverage after t is retracted; t … recovery is a gap
 *
 * A channel begins at a time of our clock, but rows carry the venue's time. If the venue's clock is ahead, data from
 * shortly before the subscription is stamped later than the beginning, so coverage starts that much later.
 *
 * Data that is known to be missing can be requested while the channels stay up: its time is left out until it has been
 * received (`unreceived`, `received`).
 *
 * A venue's own answer about the past (`confirmed`) overrides everything received live: it is never retracted, and
 * it closes gaps.
 */
import type { Feed } from '../../core/feed.ts'
import type { GapReason } from '../../store/coverage.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { uncovered } from './uncovered.ts'
import type { RowWriter } from './write-rows.ts'

/** Only the newest lost ranges are kept, because an open gap reaches back hours, not days. */
const MAX_LOST = 1_000

export interface TrackedFeed {
  readonly feed: Feed
  /** Keys of the channels that provide its data. */
  readonly channels: readonly string[]
}

export class FeedCoverage implements TrackedFeed {
  readonly feed: Feed
  readonly channels: readonly string[]
  private readonly writer: Pick<RowWriter, 'gap' | 'observed' | 'unobserved'>
  private covering = false
  private coveredToMs = 0
  /** When coverage began; undefined once some of it has been recorded. */
  private beganMs: number | undefined
  /** Reason of the gap that ended when coverage began. */
  private reasonBefore: GapReason | undefined
  private confirmedToMs = 0
  private limitMs = Number.POSITIVE_INFINITY
  private openGap: { fromMs: number; reason: GapReason } | undefined
  /** Ranges that coverage skips when it reaches them, ascending. */
  private doubts: HistoryRange[] = []
  /** Ranges that were lost for a different reason, ascending; the open gap around them does not overwrite it. */
  private lostRanges: HistoryRange[] = []
  /** Ranges that lack nothing but data that is being requested, ascending. */
  private unreceivedRanges: HistoryRange[] = []
  /** Whether anything was recorded as observed since the start. */
  private hasRecorded = false

  constructor({ feed, channels }: TrackedFeed, writer: Pick<RowWriter, 'gap' | 'observed' | 'unobserved'>) {
    this.feed = feed
    this.channels = channels
    this.writer = writer
  }

  get isCovering(): boolean {
    return this.covering
  }

  get coveredTo(): number {
    return this.coveredToMs
  }

  begin(atMs: number): void {
    this.covering = true
    this.beganMs = atMs
    this.coveredToMs = Math.max(atMs, this.confirmedToMs)
    this.recordOpenGap(atMs)
    this.leaveUnrequested({ fromMs: this.openGap?.fromMs ?? Number.NEGATIVE_INFINITY, toMs: atMs })
    this.reasonBefore = this.openGap?.reason
    this.openGap = undefined
  }

  /** A failure may be found late. If it began before a gap that is already open, the start of that gap moves back. */
  fail(fromMs: number, reason: GapReason, channelLimitMs: number, aheadMs = 0): void {
    const startMs = Math.max(Math.min(fromMs, channelLimitMs), this.confirmedToMs)
    if (this.covering) {
      const coveredMs = this.coveredToMs
      this.coverTo(startMs, channelLimitMs, aheadMs)
      this.writer.unobserved(this.feed, startMs, coveredMs)
      this.openGap = { fromMs: startMs, reason }
    } else if (this.openGap !== undefined && startMs < this.openGap.fromMs) {
      this.writer.unobserved(this.feed, startMs, this.openGap.fromMs)
      this.openGap = { fromMs: startMs, reason: this.openGap.reason }
    }
    this.covering = false
  }

  /**
   * Records time as observed, up to the limits of the feed and its channels and except for ranges in doubt. `aheadMs`:
   * how far the venue's clock is ahead of ours.
   */
  coverTo(wantedMs: number, channelLimitMs: number, aheadMs = 0): void {
    const toMs = Math.min(wantedMs, this.limitMs, channelLimitMs)
    if (this.beganMs !== undefined && toMs > this.coveredToMs) {
      this.coveredToMs = Math.max(this.coveredToMs, this.beganMs + aheadMs)
      this.beganMs = undefined
    }
    for (const doubt of this.doubtsToSkip()) {
      this.record(Math.min(doubt.fromMs, toMs))
      if (doubt.fromMs < toMs) this.coveredToMs = Math.max(this.coveredToMs, doubt.toMs)
    }
    this.record(toMs)
    if (this.doubts.length > 0) this.doubts = this.doubts.filter((doubt) => doubt.toMs > toMs)
  }

  recordOpenGap(toMs: number): void {
    if (this.openGap === undefined) return
    const { fromMs, reason } = this.openGap
    for (const piece of uncovered({ fromMs, toMs }, this.lostRanges))
      this.writer.gap(this.feed, piece.fromMs, piece.toMs, reason)
  }

  /** The venue has answered for everything up to here. */
  confirmed(toMs: number): void {
    this.confirmedToMs = Math.max(this.confirmedToMs, toMs)
    if (this.openGap !== undefined && this.openGap.fromMs < toMs)
      this.openGap = { fromMs: toMs, reason: this.openGap.reason }
  }

  limit(toMs: number): void {
    this.limitMs = toMs
  }

  /**
   * Nothing before this instant is known to be complete: coverage not recorded yet starts here, and the gap before it
   * is extended up to here.
   */
  startAt(atMs: number): void {
    if (this.beganMs !== undefined && this.reasonBefore !== undefined)
      this.writer.gap(this.feed, this.beganMs, atMs, this.reasonBefore)
    this.coveredToMs = Math.max(this.coveredToMs, atMs)
  }

  private record(toMs: number): void {
    if (toMs <= this.coveredToMs) return
    this.hasRecorded = true
    this.writer.observed(this.feed, this.coveredToMs, toMs)
    this.coveredToMs = toMs
  }

  private doubtsToSkip(): readonly HistoryRange[] {
    const ahead = this.unreceivedRanges.filter(({ toMs }) => toMs > this.coveredToMs)
    if (ahead.length === 0) return this.doubts
    return [...this.doubts, ...ahead].sort((a, b) => a.fromMs - b.fromMs)
  }

  /**
   * Data of this range is missing and will be requested; nothing else of it is. Returns false if nothing has been
   * recorded since the start, so that there is nothing to retract and no gap between two observations.
   */
  unreceived(range: HistoryRange): boolean {
    const last = this.unreceivedRanges.at(-1)
    const isNext = last !== undefined && last.fromMs <= range.fromMs && last.toMs >= range.fromMs
    const merged = isNext ? { fromMs: last.fromMs, toMs: Math.max(last.toMs, range.toMs) } : range
    this.unreceivedRanges = [...(isNext ? this.unreceivedRanges.slice(0, -1) : this.unreceivedRanges), merged]
      .sort((a, b) => a.fromMs - b.fromMs)
      .slice(-MAX_LOST)
    return this.hasRecorded
  }

  /** The data of this range has been received. */
  received(range: HistoryRange): void {
    const observedToMs = this.openGap?.fromMs ?? this.coveredToMs
    for (const { fromMs, toMs } of this.unreceivedRanges) {
      const endMs = Math.min(toMs, range.toMs, observedToMs)
      const startMs = Math.max(fromMs, range.fromMs)
      if (this.hasRecorded && startMs < endMs) this.writer.observed(this.feed, startMs, endMs, true)
    }
    this.leaveUnrequested(range)
  }

  /** What is missing of this range for another reason does not come back with the data. */
  private leaveUnrequested(range: HistoryRange): void {
    if (this.unreceivedRanges.length > 0)
      this.unreceivedRanges = this.unreceivedRanges.flatMap((each) =>
        uncovered(each, [range]).filter(({ fromMs, toMs }) => fromMs < toMs),
      )
  }

  lost(range: HistoryRange): void {
    this.lostRanges = [...this.lostRanges, range].sort((a, b) => a.fromMs - b.fromMs).slice(-MAX_LOST)
    this.leaveOut(range)
  }

  /** Coverage skips this range when it reaches it, because its data is known to be missing. */
  leaveOut(range: HistoryRange): void {
    this.leaveUnrequested(range)
    if (!this.covering || range.toMs <= this.coveredToMs) return
    this.doubts.push(range)
    this.doubts.sort((a, b) => a.fromMs - b.fromMs)
  }

  /** The range becomes a gap, except for what the venue confirmed; false if nothing is left of it. */
  doubt({ fromMs, toMs }: HistoryRange): boolean {
    const startMs = Math.max(fromMs, this.confirmedToMs)
    if (!this.covering || toMs <= startMs) return false
    if (this.doubts.some((known) => known.fromMs <= startMs && known.toMs >= toMs)) return false
    this.writer.unobserved(this.feed, startMs, Math.min(toMs, this.coveredToMs))
    this.writer.gap(this.feed, startMs, toMs, 'not_observed')
    this.leaveOut({ fromMs: startMs, toMs })
    return true
  }
}
