/** The storage port of coverage: per feed, what was observed and why something was not. */
import type { Feed } from '../core/feed.ts'
import type { Source } from '../core/source.ts'

export const GAP_REASONS = ['not_observed', 'venue_down', 'before_start', 'not_provided'] as const
export type GapReason = (typeof GAP_REASONS)[number]

export interface Span {
  /** Inclusive. */
  from: number
  /** Exclusive. */
  to: number
}

export interface Gap extends Span {
  source: Source
  reason: GapReason
}

export interface Coverage {
  /** True when every feed was observed over the whole range. */
  complete: boolean
  /** What every asked feed observed. */
  observed: Span[]
  /** Sorted by (from, source, to); touching gaps of one source and reason are one. */
  gaps: Gap[]
}

export interface CoverageStore {
  /** This time was observed. Closes gaps inside it. */
  record(feed: Feed, from: number, to: number): Promise<void>
  /** This time was not observed, for a known reason. What was observed stays observed. */
  recordGap(feed: Feed, from: number, to: number, reason: GapReason): Promise<void>
  /** Takes an observation back (a feed was connected but silent); a gap can then be recorded. */
  retract(feed: Feed, from: number, to: number): Promise<void>
  /**
   * What is neither observed nor a recorded gap is `before_start` before the feed's first observation, and
   * `not_observed` otherwise (also when the feed was never observed).
   */
  read(feeds: readonly Feed[], from: number, to: number): Promise<Coverage>
}
