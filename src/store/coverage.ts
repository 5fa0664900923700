/** The storage port of coverage: for each feed, what was observed and why the rest was not. */
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
  /** The time that all requested feeds observed. */
  observed: Span[]
  /** Sorted by (from, source, to); adjacent gaps with the same source and reason are merged. */
  gaps: Gap[]
}

/**
 * A change of what is known about [from, to) of a feed; part of a write (environment.ts).
 *
 *   observed    this time was observed; gaps inside it are closed
 *   gap         this time was not observed, for a known reason; observed parts stay observed
 *   retracted   an observation is withdrawn (a feed was connected but silent); a gap can then be recorded
 */
export type CoverageChange = { readonly feed: Feed; readonly from: number; readonly to: number } & (
  | { readonly change: 'observed' | 'retracted' }
  | { readonly change: 'gap'; readonly reason: GapReason; readonly unlessKnown?: boolean }
)

export function observed(feed: Feed, from: number, to: number): CoverageChange {
  return { change: 'observed', feed, from, to }
}

export function retracted(feed: Feed, from: number, to: number): CoverageChange {
  return { change: 'retracted', feed, from, to }
}

export function gap(feed: Feed, from: number, to: number, reason: GapReason): CoverageChange {
  return { change: 'gap', feed, from, to, reason }
}

/** A gap only where nothing is known yet; a gap that is already recorded keeps its reason. */
export function gapUnlessKnown(feed: Feed, from: number, to: number, reason: GapReason): CoverageChange {
  return { change: 'gap', feed, from, to, reason, unlessKnown: true }
}

export interface CoverageStore {
  /**
   * Time that is neither observed nor a recorded gap is reported as `before_start` before the feed's first observation,
   * and as `not_observed` otherwise (also when the feed was never observed).
   */
  read(feeds: readonly Feed[], from: number, to: number): Promise<Coverage>
}
