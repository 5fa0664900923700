/**
 * The order book of one token. The venue numbers nothing, so the book is checked against the frames: after each one its
 * top must equal the top that the frame reports, and it must not be crossed.
 *
 *   empty ──book──▶ live ──mismatch, crossed, too deep, new tick size, frozen, lost socket──▶ stale ──book or REST──▶ live
 *
 * A missed frame may change levels that no top shows. A full book, or the venue's own book with the hash of one of our
 * last frames, is proof. If it contradicts ours, everything since the previous proof is in doubt, even if the book was
 * lost for another reason in between.
 *
 * While the book is not live, changes are set aside. A REST book that is newer than the last applied frame is then
 * taken, and the changes since are applied to it.
 */

import { MICRO, microOf, orderPriceOf, orderSizeOf } from '../../core/micro.ts'
import { type BookSide, type MicroLevel, type MicroLevels, OrderBook } from '../../core/order-book.ts'
import { MAX_LEVELS } from '../../core/rows/book.ts'
import type {
  BookDeltaObservation,
  BookLostObservation,
  BookLostReason,
  BookSnapshotObservation,
  MarketLeg,
} from '../observation.ts'
import { MAX_OVERTAKEN_MS } from '../plausible-bounds.ts'
import { checksumOf, KnownStates, levelChecksum } from './known-states.ts'
import { aboutOf, type Leg, legOf } from './mapper.ts'
import type { BookWire, ChangeWire } from './wire.ts'

/** Above this number the waiting changes are dropped, and only a book newer than all of them helps. */
const MAX_WAITING_CHANGES = 4_096

export type TokenObservation = BookSnapshotObservation | BookDeltaObservation | BookLostObservation

interface WaitingChange {
  readonly timeMs: number
  readonly change: ChangeWire
  readonly level: MicroLevel
}

export class TokenBook {
  leg: Leg
  readonly #marketLeg: MarketLeg
  readonly levels = new OrderBook()
  #isLive = false
  #frameMs = 0
  /** Time of the last proof that all levels were right. */
  #provenMs = 0
  /** The venue's hash of the book after the last applied frame; null while the levels may match no frame. */
  #frameHash: string | null = null
  /** Checksum of `levels`. */
  #checksum = 0
  /** States of the book after the frames since the last full book. */
  readonly #states = new KnownStates()
  /** Changes that arrived while the book was not live. */
  #waiting: WaitingChange[] = []
  /** Time of the newest dropped change; only a book of that time or later includes it. */
  #droppedMs = 0

  constructor(leg: Leg) {
    this.leg = leg
    this.#marketLeg = legOf(leg)
  }

  get isLive(): boolean {
    return this.#isLive
  }

  /** The venue's time of the last applied frame. */
  get frameMs(): number {
    return this.#frameMs
  }

  /**
   * Undefined if a level is not a number; null for a book that is older than the last change, while the book is not
   * live.
   */
  replace(
    wire: BookWire,
    via: 'stream' | 'rest',
    receivedMs: number,
    sides = wireLevelsOf(wire),
  ): TokenObservation | null | undefined {
    if (sides === undefined) return undefined
    const timeMs = bookTimeOf(wire, receivedMs)
    if (this.#isLive && timeMs < this.#frameMs) return this.#overtaken(timeMs, receivedMs)
    if (!this.#isLive && timeMs < this.#neededMs()) return null
    if (!this.#rebuild(sides, wire, timeMs + 1)) return this.#lost('top_mismatch', receivedMs)
    return this.#taken(via, Math.max(timeMs, this.#waitingToMs()), receivedMs)
  }

  /**
   * Applies all changes of one frame. Undefined if a value is not a number: then only a book of that time or later has
   * what the frame changed. Empty while the book is not live.
   */
  change(changes: readonly ChangeWire[], timeMs: number, receivedMs: number): TokenObservation[] | undefined {
    const frame: WaitingChange[] = []
    for (const change of changes) {
      const level = levelOf(change)
      if (level === undefined) {
        this.#droppedMs = Math.max(this.#droppedMs, timeMs)
        return undefined
      }
      frame.push({ timeMs, change, level })
    }
    if (!this.#isLive) {
      this.#setAside(frame)
      return []
    }
    if (timeMs < this.#frameMs) {
      this.#setAside(frame)
      return [this.#overtaken(timeMs, receivedMs)]
    }
    const bids: MicroLevel[] = []
    const asks: MicroLevel[] = []
    this.#frameHash = null
    for (const { change, level } of frame) {
      this.#apply(change, level)
      if (sideOf(change) === 'bids') bids.push(level)
      else asks.push(level)
    }
    const last = changes.at(-1)
    if (last !== undefined && !hasReportedTop(this.levels, last)) {
      this.#setAside(frame)
      return [this.#lost('top_mismatch', receivedMs, this.#provenMs)]
    }
    if (this.levels.isCrossed()) {
      this.#droppedMs = timeMs
      return [this.#lost('crossed', receivedMs)]
    }
    if (Math.max(this.levels.count('bids'), this.levels.count('asks')) > MAX_LEVELS) {
      this.#droppedMs = timeMs
      return [this.#lost('too_deep', receivedMs)]
    }
    this.#frameMs = Math.max(this.#frameMs, timeMs)
    this.#frameHash = last?.hash ?? null
    if (last?.hash) this.#states.add(last.hash, { checksum: this.#checksum, timeMs: this.#frameMs })
    return [
      {
        kind: 'book_delta',
        source: 'predmkt_a',
        symbol: this.leg.symbol,
        instrument: this.leg.tokenId,
        receivedMs,
        venueTimeMs: timeMs,
        key: null,
        bids,
        asks,
        leg: this.#marketLeg,
      },
    ]
  }

  /**
   * Undefined if the REST book is older than what was applied already, cannot be read, or does not match the reported
   * top.
   */
  repair(wire: BookWire, receivedMs: number): TokenObservation | undefined {
    const timeMs = bookTimeOf(wire, 0)
    const sides = wireLevelsOf(wire)
    if (sides === undefined || timeMs < this.#neededMs()) return undefined
    if (!this.#rebuild(sides, wire, timeMs)) {
      this.#isLive = false
      return undefined
    }
    return this.#taken('rest', Math.max(timeMs, this.#waitingToMs()), receivedMs)
  }

  /** `rightToMs`: the book is known from elsewhere to be right until then. */
  lose(reason: BookLostReason, receivedMs: number, rightToMs = 0): BookLostObservation | null {
    if (!this.#isLive) return null
    const sinceMs = reason === 'hash_mismatch' ? this.#provenMs : Math.max(this.#frameMs, rightToMs)
    return this.#lost(reason, receivedMs, sinceMs)
  }

  /**
   * Compares the venue's own book with ours in the state of the same hash, which may be some frames ago. Other levels
   * prove ours wrong, the same levels prove it right. Null unless it is proven wrong.
   */
  disprove(wire: BookWire, receivedMs: number, sides = wireLevelsOf(wire)): BookLostObservation | null {
    if (!wire.hash || sides === undefined) return null
    const isNewest = wire.hash === this.#frameHash
    const earlier = isNewest ? undefined : this.#states.of(wire.hash)
    if (!isNewest && (earlier === undefined || earlier.timeMs <= this.#provenMs)) return null
    const isWrong = isNewest ? this.#differsFrom(sides) : earlier?.checksum !== checksumOf(leveled(sides))
    if (!isWrong) {
      this.#provenMs = earlier?.timeMs ?? this.#frameMs
      return null
    }
    this.#frameHash = null
    this.#states.clear()
    return this.#lost('hash_mismatch', receivedMs, this.#provenMs)
  }

  /** Whether a REST book is newer than ours and differs from it. */
  isBehind(wire: BookWire): boolean {
    return bookTimeOf(wire, 0) > this.#frameMs && this.#differsFrom(wireLevelsOf(wire))
  }

  /** The book has been wrong since the frame's time, but a frame that seems overtaken by hours has a wrong time. */
  #overtaken(timeMs: number, receivedMs: number): BookLostObservation {
    const sinceMs = Math.max(timeMs, this.#frameMs - MAX_OVERTAKEN_MS)
    return this.#lost('out_of_order', receivedMs, sinceMs)
  }

  #lost(reason: BookLostReason, receivedMs: number, sinceMs = this.#frameMs): BookLostObservation {
    this.#isLive = false
    return {
      kind: 'book_lost',
      ...aboutOf(this.leg, receivedMs),
      venueTimeMs: receivedMs,
      key: null,
      reason,
      sinceMs,
      leg: this.#marketLeg,
    }
  }

  #taken(via: 'stream' | 'rest', timeMs: number, receivedMs: number): TokenObservation {
    this.#frameMs = Math.max(this.#frameMs, timeMs)
    this.#provenMs = this.#frameMs
    this.#waiting = []
    this.#droppedMs = 0
    if (this.levels.isCrossed()) return this.#lost('crossed', receivedMs)
    this.#isLive = true
    return {
      kind: 'book_snapshot',
      ...aboutOf(this.leg, receivedMs),
      venueTimeMs: this.#frameMs,
      key: null,
      via,
      ...this.levels.microLevels(),
      leg: this.#marketLeg,
    }
  }

  #apply(change: ChangeWire, [price, size]: MicroLevel): void {
    const side = sideOf(change)
    const before = levelChecksum(side, price, this.levels.sizeAt(side, price))
    this.#checksum = (this.#checksum - before + levelChecksum(side, price, size)) | 0
    this.levels.set(side, price, size)
  }

  #differsFrom(sides: MicroLevels | undefined): boolean {
    return sides !== undefined && !this.levels.hasLevels(sides)
  }

  #setAside(frame: readonly WaitingChange[]): void {
    for (const each of frame) this.#waiting.push(each)
    if (this.#waiting.length <= MAX_WAITING_CHANGES) return
    for (const { timeMs } of this.#waiting) this.#droppedMs = Math.max(this.#droppedMs, timeMs)
    this.#waiting = []
  }

  /** An older book would lack changes that are no longer waiting. */
  #neededMs(): number {
    return Math.max(this.#frameMs, this.#droppedMs)
  }

  #waitingToMs(): number {
    return this.#waiting.at(-1)?.timeMs ?? 0
  }

  /**
   * Applies a full book and the waiting changes from `fromMs` on; false if the top differs from what the last change
   * reports.
   */
  #rebuild(sides: MicroLevels, wire: BookWire, fromMs: number): boolean {
    this.#waiting = this.#waiting.filter((each) => each.timeMs >= fromMs).sort((a, b) => a.timeMs - b.timeMs)
    this.levels.replace(sides.bids, sides.asks)
    this.#checksum = checksumOf(this.levels.microLevels())
    this.#states.clear()
    for (const { change, level } of this.#waiting) this.#apply(change, level)
    const last = this.#waiting.at(-1)?.change
    const isRight = last === undefined || hasReportedTop(this.levels, last)
    this.#frameHash = isRight ? ((last ?? wire).hash ?? null) : null
    return isRight
  }
}

/** Normalises levels as a book has them: each price once, and no level of size 0. */
function leveled({ bids, asks }: MicroLevels): MicroLevels {
  const book = new OrderBook()
  book.replace(bids, asks)
  return book.microLevels()
}

function levelOf(wire: Pick<ChangeWire, 'price' | 'size'>): MicroLevel | undefined {
  const price = orderPriceOf(wire.price)
  const size = orderSizeOf(wire.size)
  return price === undefined || size === undefined ? undefined : [price, size]
}

const sideOf = (change: ChangeWire): BookSide => (change.side === 'BUY' ? 'bids' : 'asks')

function bookTimeOf(wire: BookWire, otherwise: number): number {
  return wire.timestamp === undefined ? otherwise : Number(wire.timestamp)
}

/** Old frames call the sides buys and sells. Levels may be in any order on the wire. */
export function wireLevelsOf(wire: BookWire): MicroLevels | undefined {
  const bids = microLevels(wire.bids ?? wire.buys ?? [])
  const asks = microLevels(wire.asks ?? wire.sells ?? [])
  return bids === undefined || asks === undefined ? undefined : { bids, asks }
}

function microLevels(levels: readonly { price: string; size: string }[]): MicroLevel[] | undefined {
  const read: MicroLevel[] = []
  for (const each of levels) {
    const level = levelOf(each)
    if (level === undefined) return undefined
    read.push(level)
  }
  return read
}

/** The venue reports an empty side as an empty string, as 0 for bids or as 1 for asks. */
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
