/**
 * Sequence numbers of order books and trades, and what happens when one is lost. The venue numbers the frames of a
 * subscription (sid) 1, 2, 3 and so on, over all of its contracts.
 *
 *   next number ──▶ next
 *   a number is missing ──▶ gap: every book of the sid is lost and requested again
 *                            ╰── the second gap within a minute ──▶ the socket is dropped
 *                            of trades: the time since the last one is lost, and requested
 *                            ╰── the third gap within ten minutes ──▶ the socket is dropped
 *                                ╰── of the next socket too ──▶ its numbers of trades are not believed any more
 *   the same or a lower number ──▶ old: the frame was seen before, or it belongs to a gap that was found already; a trade is read all the same
 *   a number far ahead, or more subscriptions than we make ──▶ implausible: the socket is dropped
 *
 * The numbers begin again with every socket.
 */
import { MAX_SEQUENCE_STEP } from '../plausible-bounds.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'

export type Continuity = 'first' | 'next' | 'gap' | 'old' | 'implausible'

/** Subscriptions of one socket, and those that the venue made of them. */
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

/** Every frame that carries a number passes here, replies included. */
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
