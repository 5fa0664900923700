/**
 * Sequence numbers of order books and trades, and what follows from a missing one. The venue numbers the frames of a
 * subscription (sid) 1, 2, 3 and so on, across all of its contracts.
 *
 *   next number ──▶ next
 *   a number is missing ──▶ gap: every book of the sid is lost and requested again
 *                            ╰── second gap within a minute ──▶ the socket is dropped
 *                            in trades: the time since the last trade is lost, and requested
 *                            ╰── third gap within ten minutes ──▶ the socket is dropped
 *                                ╰── on the next socket too ──▶ its trade numbers are no longer believed
 *   the same or a lower number ──▶ old: seen before, or part of a gap already found; a trade is read all the same
 *   a number far ahead, or more subscriptions than we make ──▶ implausible: the socket is dropped
 *
 * Numbering starts again with every socket.
 */
import { MAX_SEQUENCE_STEP } from '../plausible-bounds.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'

export type Continuity = 'first' | 'next' | 'gap' | 'old' | 'implausible'

/** Upper bound of the sids on one socket, including those that the venue creates itself. */
const MAX_SUBSCRIPTIONS = 10_000

export function continuityOf(last: number | undefined, seq: number): Continuity {
  if (seq - (last ?? 0) > MAX_SEQUENCE_STEP) return 'implausible'
  if (last === undefined) return seq === 1 ? 'first' : 'gap'
  if (seq <= last) return 'old'
  return seq === last + 1 ? 'next' : 'gap'
}

export function afterGap(previousGapMs: number, nowMs: number): 'request books' | 'drop socket' {
  return nowMs - previousGapMs < TIMES.secondGapMs ? 'drop socket' : 'request books'
}

/** Must be called for every numbered frame, including replies. */
export type BookSequence = (sid: number, seq: number) => Continuity

export function createBookSequence(): BookSequence {
  const lastOf = new Map<number, number>()
  return (sid, seq) => {
    const continuity = continuityOf(lastOf.get(sid), seq)
    if (continuity === 'old' || continuity === 'implausible') return continuity
    lastOf.set(sid, seq)
    return lastOf.size > MAX_SUBSCRIPTIONS ? 'implausible' : continuity
  }
}
