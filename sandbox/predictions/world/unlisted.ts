/** Times in which the venue's lists leave out a market that exists. Requests that name the market still answer. */
import { hash32 } from '../../exchanges/world/hash.ts'

/** From `fromMs` inclusive to `toMs` exclusive. */
export interface Unlisted {
  readonly fromMs: number
  readonly toMs: number
  /** Whether all markets of an event are left out, or only its first one. */
  readonly isWhole: boolean
}

const MINUTE_MS = 60_000
/** Of this many events, one is left out for a while. */
const ONE_OF = 6
/** A market may be missing before it opens too. */
const BEFORE_MS = 5 * MINUTE_MS
const SHORTEST_MS = 20_000
const LONGEST_MS = 6 * MINUTE_MS

export function drawUnlisted(about: {
  readonly seed: number
  readonly stream: number
  readonly number: number
  /** When the market opens and closes. */
  readonly fromMs: number
  readonly toMs: number
  /** Before this time lists are whole; undefined if they always are. */
  readonly notBeforeMs: number | undefined
}): Unlisted | undefined {
  const drawn = (which: number, count: number) =>
    hash32(about.seed, about.stream, about.number * 4 + which) % count
  if (about.notBeforeMs === undefined || drawn(0, ONE_OF) !== 0) return undefined
  const firstMs = about.fromMs - BEFORE_MS
  const fromMs = firstMs + drawn(1, about.toMs - firstMs)
  const toMs = fromMs + SHORTEST_MS + drawn(2, LONGEST_MS - SHORTEST_MS)
  return fromMs < about.notBeforeMs ? undefined : { fromMs, toMs, isWhole: drawn(3, 2) === 0 }
}

export const isUnlisted = (unlisted: Unlisted | undefined, nowMs: number): boolean =>
  unlisted !== undefined && unlisted.fromMs <= nowMs && nowMs < unlisted.toMs
