/**
 * The books of one prediction market and their samples on the 500 ms grid.
 *
 *   book_snapshot ──▶ live ──change──▶ live … a sample at the first grid point at or after a change
 *        ▲              │
 *        ╰── book_lost ─╯  no sample until the next snapshot
 *
 * A sample holds every change up to its instant by the venue's time: it is taken when a later change arrives, or
 * `SAMPLE_GRACE_MS` after the grid point. One whose changes begin to come only then waits for the rest of them; what
 * comes after it was taken goes to the next grid point. An unchanged market gives a sample a minute, to the millisecond,
 * as long as the venue sends anything; a crossed book gives none. Between two books that were polled nobody knows
 * whether anything has changed: each counts for the instant of its own poll.
 */

import { OrderBook } from '../../core/order-book.ts'
import type {
  BookDeltaObservation,
  BookLostObservation,
  BookSnapshotObservation,
} from '../../venues/observation.ts'
import { CARRY_FORWARD_MS, gridOf } from '../shared/sample-grid.ts'

export const SAMPLE_GRACE_MS = 1_000
/**
 * What the venue has held back comes in a burst, frame by frame: nothing that it may change is sampled for so long after
 * the first frame. A sample is taken before the margin of coverage is over nevertheless.
 */
export const BURST_MS = 250
/** A longer pause between two frames is a silence, and so a gap: a shorter one was observed, with nothing changed in it. */
const PAUSE_MS = 60_000

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

interface SamplerOptions {
  readonly instruments: readonly string[]
  /** Samples are taken from then on, also where that is over when the first one can be taken. */
  readonly fromMs: number
  /** Writes the books as they are now; false when they are the same as in the row before. */
  readonly onSample: (gridMs: number, isCarried: boolean) => boolean
  /** Until when the frames of all markets were received: silence does not prove that nothing has changed. */
  readonly receivedToMs: () => number
}

const NO_DOUBTS: readonly Span[] = []

export class MarketSampler {
  readonly #options: SamplerOptions
  readonly #books: ReadonlyMap<string, OrderBook>
  readonly #live = new Set<string>()
  #isLive = false
  #lostSinceMs: number | undefined
  #changedMs = 0
  #isDirty = false
  /** When the first change of the sample that waits was received. */
  #dirtySinceMs = 0
  /** The point of the grid of the last poll; undefined for books whose changes are received. */
  #polledGridMs: number | undefined
  #lastGridMs = Number.NEGATIVE_INFINITY
  #doubts = NO_DOUBTS
  #crossedSinceMs: number | undefined

  constructor(options: SamplerOptions) {
    this.#options = options
    this.#books = new Map(options.instruments.map((instrument) => [instrument, new OrderBook()]))
  }

  /** All books are known; a market without known instruments has none. */
  get isLive(): boolean {
    return this.#isLive
  }

  /** Until when all books were known, while one is not; undefined before the first was. */
  get lostSinceMs(): number | undefined {
    return this.#lostSinceMs
  }

  /** Since when a book is crossed at each point of the grid, while it is: meanwhile it is wrong. */
  get crossedSinceMs(): number | undefined {
    return this.#isLive ? this.#crossedSinceMs : undefined
  }

  /** The book of an instrument; undefined for one that is not of this market. */
  book(instrument: string): OrderBook | undefined {
    return this.#books.get(instrument)
  }

  snapshot({ instrument, venueTimeMs, receivedMs, via, bids, asks }: BookSnapshotObservation): void {
    const book = this.#books.get(instrument)
    if (book === undefined) return
    // The time of a book is that of its last change. One from before the loss counts from when it was received.
    const isOlder = !this.#isLive && venueTimeMs < (this.#lostSinceMs ?? Number.POSITIVE_INFINITY)
    const atMs = this.#before(isOlder ? Math.max(venueTimeMs, receivedMs) : venueTimeMs)
    book.replace(bids, asks)
    this.#polledGridMs = via === 'poll' ? gridOf(receivedMs) : undefined
    this.#live.add(instrument)
    this.#isLive = this.#live.size === this.#books.size
    this.#changed(atMs, receivedMs)
    if (!this.#isLive) return
    if (this.#lostSinceMs !== undefined && gridOf(this.#lostSinceMs + 1) < gridOf(this.#changedMs))
      this.#doubts = [...this.#doubts, { fromMs: this.#lostSinceMs, toMs: gridOf(this.#changedMs) }]
    this.#lostSinceMs = undefined
  }

  change({ instrument, venueTimeMs, receivedMs, bids, asks }: BookDeltaObservation): void {
    const book = this.#books.get(instrument)
    if (book === undefined || !this.#live.has(instrument)) return
    const atMs = this.#before(venueTimeMs)
    for (const [price, size] of bids) book.set('bids', price, size)
    for (const [price, size] of asks) book.set('asks', price, size)
    this.#changed(atMs, receivedMs)
  }

  lost({ instrument, sinceMs }: BookLostObservation): void {
    if (!this.#books.has(instrument)) return
    if (!this.#live.has(instrument)) {
      // It was lost before, and turns out to have been wrong for longer.
      if (this.#lostSinceMs !== undefined) this.#lostSinceMs = Math.min(this.#lostSinceMs, sinceMs)
      return
    }
    if (this.#isDirty && this.#isLive && gridOf(this.#changedMs) <= sinceMs)
      this.#take(gridOf(this.#changedMs), false)
    this.#carryForward(sinceMs)
    this.#isDirty = false
    this.#live.delete(instrument)
    this.#isLive = false
    this.#lostSinceMs = Math.min(this.#lostSinceMs ?? sinceMs, sinceMs)
  }

  /** Takes the samples that are due. */
  tick(nowMs: number): void {
    if (!this.#isLive) return
    const dueMs = nowMs - SAMPLE_GRACE_MS
    if (this.#isDirty && gridOf(this.#changedMs) <= dueMs && this.#dirtySinceMs + BURST_MS <= nowMs)
      this.#take(gridOf(this.#changedMs), false)
    this.#carryForward(Math.min(dueMs, this.#options.receivedToMs()))
  }

  /** Ranges that are over, hold a point of the grid, and in which the books may have been wrong. */
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

  /** Takes the samples that are due before a change: what was known until then belongs to earlier grid points. */
  #before(timeMs: number): number {
    const atMs = Math.max(timeMs, this.#lastGridMs + 1, this.#changedMs)
    if (this.#isDirty && this.#isLive && gridOf(this.#changedMs) < atMs)
      this.#take(gridOf(this.#changedMs), false)
    // A change that was undone within its point of the grid leaves the minute due.
    this.#carryForward(Math.min(atMs - 1, this.#options.receivedToMs() + PAUSE_MS))
    return atMs
  }

  /** The samples of an unchanged market that are due at or before an instant; several after a pause in sampling. */
  #carryForward(toMs: number): void {
    if (this.#isDirty || !this.#isLive) return
    if (this.#polledGridMs !== undefined) {
      // Changed or not: the next poll may come a minute after this one.
      if (this.#polledGridMs > this.#lastGridMs && this.#polledGridMs <= toMs)
        this.#take(this.#polledGridMs, true)
      return
    }
    if (!Number.isFinite(this.#lastGridMs)) {
      // Before its last change the book was another, and nobody has received it.
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
