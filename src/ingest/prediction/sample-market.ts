/**
 * The books of one prediction market and their samples on the 500 ms grid.
 *
 *   book_snapshot ──▶ live ──change──▶ live … a sample at the first grid point at or after a change
 *        ▲              │
 *        ╰── book_lost ─╯  no sample until the next snapshot
 *
 * A sample contains every change up to its instant by the venue's time. It is taken when a later change arrives, or
 * `SAMPLE_GRACE_MS` after the grid point. If its first change arrives only then, it waits for the rest of them; changes
 * that arrive after it was taken go to the next grid point. An unchanged market gives one sample a minute, to the
 * millisecond, as long as the venue sends anything; a crossed book gives none. Whether anything changed between two
 * polled books is unknown, so each of them counts only for the instant of its own poll.
 */

import { OrderBook } from '../../core/order-book.ts'
import type {
  BookDeltaObservation,
  BookLostObservation,
  BookLostReason,
  BookSnapshotObservation,
} from '../../venues/observation.ts'
import { CARRY_FORWARD_MS, gridOf } from '../shared/sample-grid.ts'

export const SAMPLE_GRACE_MS = 1_000
/**
 * What the venue has held back arrives in a burst, frame by frame, so nothing that it may change is sampled for this
 * long after the first frame. A sample is nevertheless taken before the coverage margin is over.
 */
export const BURST_MS = 250
/** A longer pause between two frames is a silence and therefore a gap; in a shorter one, nothing has changed. */
const PAUSE_MS = 60_000

/** Reasons that do not put the time before the loss in doubt; that of a lost connection is a gap of its channel. */
const OUT_OF_REACH: ReadonlySet<BookLostReason> = new Set(['ended', 'disconnected'])

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

interface SamplerOptions {
  readonly instruments: readonly string[]
  /** Samples are taken from this instant on, even if it has passed when the first one can be taken. */
  readonly fromMs: number
  /** When the market ends, as far as is known now. */
  readonly toMs: () => number
  /** Writes the current books; returns false if no row was written, for example because nothing has changed. */
  readonly onSample: (gridMs: number, isCarried: boolean) => boolean
  /** Until when the frames of all markets were received, because silence does not prove that nothing has changed. */
  readonly receivedToMs: () => number
}

const NO_DOUBTS: readonly Span[] = []

export class MarketSampler {
  readonly #options: SamplerOptions
  readonly #books: ReadonlyMap<string, OrderBook>
  readonly #live = new Set<string>()
  #isLive = false
  /** The end of the market if its books were followed to it: samples before it may still be due. */
  #endedMs: number | undefined
  #lostSinceMs: number | undefined
  /** Whether a book is not just out of reach, but may have been wrong before it was lost. */
  #isWrong = false
  #changedMs = 0
  #isDirty = false
  /** When the first change of the waiting sample was received. */
  #dirtySinceMs = 0
  /** The grid point of the last poll; undefined for books whose changes are received. */
  #polledGridMs: number | undefined
  #lastGridMs = Number.NEGATIVE_INFINITY
  #doubts = NO_DOUBTS
  #crossedSinceMs: number | undefined

  constructor(options: SamplerOptions) {
    this.#options = options
    this.#books = new Map(options.instruments.map((instrument) => [instrument, new OrderBook()]))
  }

  /** Whether all books are known; false for a market without known instruments. */
  get isLive(): boolean {
    return this.#isLive
  }

  /** Until when all books were known, while one of them is not; undefined before they first were. */
  get lostSinceMs(): number | undefined {
    return this.#lostSinceMs
  }

  /** The same if a book may have been wrong until it was lost. */
  get wrongSinceMs(): number | undefined {
    return this.#isWrong ? this.#lostSinceMs : undefined
  }

  /** Since when a book has been crossed at each grid point, and therefore wrong; undefined if none is. */
  get crossedSinceMs(): number | undefined {
    return this.#isLive ? this.#crossedSinceMs : undefined
  }

  /** Undefined for an instrument of another market. */
  book(instrument: string): OrderBook | undefined {
    return this.#books.get(instrument)
  }

  snapshot({ instrument, venueTimeMs, receivedMs, via, bids, asks }: BookSnapshotObservation): void {
    const book = this.#books.get(instrument)
    if (book === undefined) return
    // The time of a book is that of its last change. A book from before the loss counts from when it was received.
    const isOlder = !this.#isLive && venueTimeMs < (this.#lostSinceMs ?? Number.POSITIVE_INFINITY)
    const atMs = this.#before(isOlder ? Math.max(venueTimeMs, receivedMs) : venueTimeMs)
    book.replace(bids, asks)
    this.#polledGridMs = via === 'poll' ? gridOf(receivedMs) : undefined
    this.#live.add(instrument)
    this.#isLive = this.#live.size === this.#books.size
    this.#endedMs = undefined
    this.#changed(atMs, receivedMs)
    if (!this.#isLive) return
    if (this.#lostSinceMs !== undefined && gridOf(this.#lostSinceMs + 1) < gridOf(this.#changedMs))
      this.#doubts = [...this.#doubts, { fromMs: this.#lostSinceMs, toMs: gridOf(this.#changedMs) }]
    this.#lostSinceMs = undefined
    this.#isWrong = false
  }

  change({ instrument, venueTimeMs, receivedMs, bids, asks }: BookDeltaObservation): void {
    const book = this.#books.get(instrument)
    if (book === undefined || !this.#live.has(instrument)) return
    const atMs = this.#before(venueTimeMs)
    for (const [price, size] of bids) book.set('bids', price, size)
    for (const [price, size] of asks) book.set('asks', price, size)
    this.#changed(atMs, receivedMs)
  }

  lost({ instrument, reason, sinceMs, receivedMs }: BookLostObservation): void {
    if (!this.#books.has(instrument)) return
    if (!OUT_OF_REACH.has(reason)) this.#isWrong = true
    if (!this.#live.has(instrument)) {
      // The book was lost before, and turns out to have been wrong for longer.
      if (this.#lostSinceMs !== undefined) this.#lostSinceMs = Math.min(this.#lostSinceMs, sinceMs)
      return
    }
    if (this.#isDirty && this.#isLive && gridOf(this.#changedMs) <= sinceMs)
      this.#take(gridOf(this.#changedMs), false)
    this.#carryForward(sinceMs)
    const endMs = this.#options.toMs()
    if (reason === 'ended' && this.#isLive && receivedMs >= endMs) this.#endedMs = endMs
    this.#isDirty = false
    this.#live.delete(instrument)
    this.#isLive = false
    this.#lostSinceMs = Math.min(this.#lostSinceMs ?? sinceMs, sinceMs)
  }

  /** Takes the samples that are due. */
  tick(nowMs: number): void {
    const dueMs = nowMs - SAMPLE_GRACE_MS
    // If the venue sent nothing in the last seconds before the end, the next frame proves that nothing had changed.
    if (this.#endedMs !== undefined) this.#carry(Math.min(dueMs, this.#options.receivedToMs(), this.#endedMs))
    if (!this.#isLive) return
    if (this.#isDirty && gridOf(this.#changedMs) <= dueMs && this.#dirtySinceMs + BURST_MS <= nowMs)
      this.#take(gridOf(this.#changedMs), false)
    this.#carryForward(Math.min(dueMs, this.#options.receivedToMs()))
  }

  /** Ranges that are over, contain a grid point, and in which the books may have been wrong. */
  takeDoubts(): readonly Span[] {
    const taken = this.#doubts
    this.#doubts = NO_DOUBTS
    return taken
  }

  #take(gridMs: number, isCarried: boolean): void {
    this.#isDirty = false
    const isCrossed = this.#books.values().some((book) => book.isCrossed())
    this.#crossedSinceMs = isCrossed ? (this.#crossedSinceMs ?? gridMs) : undefined
    if (isCrossed) return
    if (this.#options.onSample(gridMs, isCarried)) this.#lastGridMs = gridMs
  }

  /** Takes the samples that are due before a change, because the books before it belong to earlier grid points. */
  #before(timeMs: number): number {
    const atMs = Math.max(timeMs, this.#lastGridMs + 1, this.#changedMs)
    if (this.#isDirty && this.#isLive && gridOf(this.#changedMs) < atMs)
      this.#take(gridOf(this.#changedMs), false)
    // If a change was undone before its grid point, the carried-forward sample is still due.
    this.#carryForward(Math.min(atMs - 1, this.#options.receivedToMs() + PAUSE_MS))
    return atMs
  }

  /** Takes the samples of an unchanged market that are due up to an instant; several after a pause in sampling. */
  #carryForward(toMs: number): void {
    if (!this.#isDirty && this.#isLive) this.#carry(toMs)
  }

  #carry(toMs: number): void {
    if (this.#polledGridMs !== undefined) {
      // Taken even if nothing has changed, because the next poll may come a minute later.
      if (this.#polledGridMs > this.#lastGridMs && this.#polledGridMs <= toMs)
        this.#take(this.#polledGridMs, true)
      return
    }
    if (!Number.isFinite(this.#lastGridMs)) {
      // Before its last change the book was a different one, which was never received.
      const firstMs = gridOf(Math.max(this.#changedMs, this.#options.fromMs))
      if (firstMs <= toMs) this.#take(firstMs, true)
      if (!Number.isFinite(this.#lastGridMs)) return
    }
    for (let dueMs = this.#lastGridMs + CARRY_FORWARD_MS; dueMs <= toMs; dueMs += CARRY_FORWARD_MS) {
      this.#take(dueMs, true)
      if (this.#lastGridMs !== dueMs) return
    }
  }

  #changed(atMs: number, receivedMs: number): void {
    this.#changedMs = Math.max(atMs, this.#lastGridMs + 1)
    if (!this.#isDirty) this.#dirtySinceMs = receivedMs
    this.#isDirty = true
  }
}
