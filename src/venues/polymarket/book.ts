/**
 * The order book of one token. The venue numbers nothing, so the book proves itself: after every frame its top must
 * be the top that the frame reports, and it must not be crossed.
 *
 *   empty ──book──▶ live ──mismatch, crossed, too deep, new tick size, frozen, lost socket──▶ stale ──book or REST──▶ live
 *
 * A frame that is missed may change levels that no top shows. A full book, or the venue's own book with the hash of
 * our last frame, is proof: where it contradicts, everything since the proof before it is in doubt.
 *
 * While it is not live, changes are kept aside: a REST book that is newer than the last applied frame is taken and
 * the changes since then are applied to it.
 */

import { MICRO, microOf, probabilityOf } from '../../core/micro.ts'
import { type BookSide, type MicroLevel, OrderBook } from '../../core/order-book.ts'
import { MAX_LEVELS } from '../../core/rows/book.ts'
import type {
  BookDeltaObservation,
  BookLostObservation,
  BookLostReason,
  BookSnapshotObservation,
} from '../observation.ts'
import { aboutOf, type Leg, legOf } from './mapper.ts'
import type { BookWire, ChangeWire } from './wire.ts'

/** Changes kept aside at most; beyond that only a book newer than all of them helps. */
const CHANGES_KEPT = 4_096

export type TokenObservation = BookSnapshotObservation | BookDeltaObservation | BookLostObservation

export interface TokenBook {
  readonly leg: Leg
  readonly levels: OrderBook
  readonly isLive: boolean
  /** The venue's time of the last applied frame. */
  readonly frameMs: number
  /** Undefined for levels that are no numbers. */
  replace(wire: BookWire, via: 'stream' | 'rest', receivedMs: number): TokenObservation | undefined
  /** All changes of one frame. Undefined for what is no number; empty while the book is not live. */
  change(changes: readonly ChangeWire[], timeMs: number, receivedMs: number): TokenObservation[] | undefined
  /** Undefined when the REST book is older than what was applied already, or cannot be read. */
  repair(wire: BookWire, receivedMs: number): TokenObservation | undefined
  /** `rightToMs`: that it was right until then is known from elsewhere. */
  lose(reason: BookLostReason, receivedMs: number, rightToMs?: number): BookLostObservation | null
  /** Whether a REST book differs from ours and is later. */
  isBehind(wire: BookWire): boolean
  /** Whether a REST book of the very state that we have, by its hash, has other levels. */
  isWrong(wire: BookWire): boolean
}

interface Kept {
  readonly timeMs: number
  readonly change: ChangeWire
}

export function createTokenBook(leg: Leg): TokenBook {
  const levels = new OrderBook()
  let isLive = false
  let frameMs = 0
  /** The last proof that all levels were right. */
  let provenMs = 0
  /** The venue's hash of the book after the last applied frame. */
  let frameHash: string | null = null
  let kept: Kept[] = []
  /** The time of the newest change that was dropped from the kept ones. */
  let droppedMs = 0

  function lost(reason: BookLostReason, receivedMs: number, sinceMs = frameMs): BookLostObservation {
    isLive = false
    const about = aboutOf(leg, receivedMs)
    return {
      kind: 'book_lost',
      ...about,
      venueTimeMs: receivedMs,
      key: null,
      reason,
      sinceMs,
      leg: legOf(leg),
    }
  }

  function taken(via: 'stream' | 'rest', timeMs: number, receivedMs: number): TokenObservation {
    frameMs = Math.max(frameMs, timeMs)
    provenMs = frameMs
    kept = []
    droppedMs = 0
    if (levels.isCrossed()) return lost('crossed', receivedMs)
    isLive = true
    return {
      kind: 'book_snapshot',
      ...aboutOf(leg, receivedMs),
      venueTimeMs: frameMs,
      key: null,
      via,
      ...levels.microLevels(),
      leg: legOf(leg),
    }
  }

  function apply(change: ChangeWire): readonly [BookSide, MicroLevel] | undefined {
    const price = probabilityOf(change.price)
    const size = microOf(change.size)
    if (price === undefined || size === undefined) return undefined
    const side = change.side === 'BUY' ? 'bids' : 'asks'
    levels.set(side, price, size)
    return [side, [price, size]]
  }

  function isOther(wire: BookWire): boolean {
    const sides = readSides(wire)
    if (sides === undefined) return false
    const theirs = new OrderBook()
    theirs.replace(sides.bids, sides.asks)
    return !theirs.equals(levels)
  }

  function keepAside(changes: readonly ChangeWire[], timeMs: number): void {
    for (const change of changes) kept.push({ timeMs, change })
    if (kept.length <= CHANGES_KEPT) return
    droppedMs = kept.at(-1)?.timeMs ?? timeMs
    kept = []
  }

  const keptToMs = () => kept.at(-1)?.timeMs ?? 0

  /** A full book and the kept changes from an instant on; false when the top is not the one that the last change reports. */
  function restore(
    sides: { bids: MicroLevel[]; asks: MicroLevel[] },
    wire: BookWire,
    fromMs: number,
  ): boolean {
    kept = kept.filter((each) => each.timeMs >= fromMs).sort((a, b) => a.timeMs - b.timeMs)
    levels.replace(sides.bids, sides.asks)
    for (const { change } of kept) apply(change)
    const last = kept.at(-1)?.change
    frameHash = (last ?? wire).hash ?? null
    return last === undefined || hasReportedTop(levels, last)
  }

  return {
    leg,
    levels,
    get isLive() {
      return isLive
    },
    get frameMs() {
      return frameMs
    },
    replace(wire, via, receivedMs) {
      const sides = readSides(wire)
      if (sides === undefined) return undefined
      const timeMs = bookTimeOf(wire, receivedMs)
      if (isLive && timeMs < frameMs) return lost('out_of_order', receivedMs, timeMs)
      if (!restore(sides, wire, timeMs + 1)) return lost('top_mismatch', receivedMs)
      return taken(via, Math.max(timeMs, keptToMs()), receivedMs)
    },
    change(changes, timeMs, receivedMs) {
      if (!isLive) {
        keepAside(changes, timeMs)
        return []
      }
      if (timeMs < frameMs) {
        keepAside(changes, timeMs)
        return [lost('out_of_order', receivedMs, timeMs)]
      }
      const bids: MicroLevel[] = []
      const asks: MicroLevel[] = []
      for (const change of changes) {
        const applied = apply(change)
        if (applied === undefined) return undefined
        if (applied[0] === 'bids') bids.push(applied[1])
        else asks.push(applied[1])
      }
      const last = changes.at(-1)
      if (last !== undefined && !hasReportedTop(levels, last)) {
        keepAside(changes, timeMs)
        return [lost('top_mismatch', receivedMs, provenMs)]
      }
      if (levels.isCrossed()) return [lost('crossed', receivedMs)]
      if (Math.max(levels.count('bids'), levels.count('asks')) > MAX_LEVELS)
        return [lost('too_deep', receivedMs)]
      frameMs = Math.max(frameMs, timeMs)
      frameHash = last?.hash ?? null
      const about = aboutOf(leg, receivedMs)
      return [{ kind: 'book_delta', ...about, venueTimeMs: timeMs, key: null, bids, asks, leg: legOf(leg) }]
    },
    repair(wire, receivedMs) {
      const timeMs = bookTimeOf(wire, 0)
      const sides = readSides(wire)
      if (sides === undefined || timeMs < Math.max(frameMs, droppedMs)) return undefined
      if (!restore(sides, wire, timeMs)) {
        isLive = false
        return undefined
      }
      return taken('rest', Math.max(timeMs, keptToMs()), receivedMs)
    },
    lose(reason, receivedMs, rightToMs = 0) {
      if (!isLive) return null
      return lost(reason, receivedMs, reason === 'hash_mismatch' ? provenMs : Math.max(frameMs, rightToMs))
    },
    isBehind: (wire) => bookTimeOf(wire, 0) > frameMs && isOther(wire),
    isWrong(wire) {
      if (!wire.hash || wire.hash !== frameHash) return false
      const isWrong = isOther(wire)
      if (!isWrong) provenMs = frameMs
      return isWrong
    },
  }
}

function bookTimeOf(wire: BookWire, otherwise: number): number {
  return wire.timestamp === undefined ? otherwise : Number(wire.timestamp)
}

/** Old frames call the sides buys and sells. The order on the wire does not matter: the best may be last. */
function readSides(wire: BookWire): { bids: MicroLevel[]; asks: MicroLevel[] } | undefined {
  const bids = microLevels(wire.bids ?? wire.buys ?? [])
  const asks = microLevels(wire.asks ?? wire.sells ?? [])
  return bids === undefined || asks === undefined ? undefined : { bids, asks }
}

function microLevels(levels: readonly { price: string; size: string }[]): MicroLevel[] | undefined {
  const read: MicroLevel[] = []
  for (const level of levels) {
    const price = probabilityOf(level.price)
    const size = microOf(level.size)
    if (price === undefined || size === undefined) return undefined
    read.push([price, size])
  }
  return read
}

/** An empty side is reported as nothing, as 0 for bids and as 1 for asks. */
function hasReportedTop(book: OrderBook, reported: ChangeWire): boolean {
  return (
    isSidesTop(book.best('bids'), reported.best_bid, 0) &&
    isSidesTop(book.best('asks'), reported.best_ask, MICRO)
  )
}

function isSidesTop(best: number | null, reported: string | null | undefined, empty: number): boolean {
  if (reported === undefined || reported === null) return true
  const top = reported === '' ? null : (microOf(reported) ?? null)
  return best === (top === empty ? null : top)
}
