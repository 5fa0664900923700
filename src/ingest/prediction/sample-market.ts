/**
 * The books of one prediction market and their samples on the 500 ms grid.
 *
 *   book_snapshot ──▶ live ──change──▶ live … a sample at the first grid point at or after a change
 *        ▲              │
 *        ╰── book_lost ─╯  no sample until the next snapshot
 *
 * A sample holds every change up to its instant by the venue's time: it is taken when a later change arrives, or
 * `SAMPLE_GRACE_MS` after the grid point. Changes that come later than that go to the next grid point. An unchanged market
 * gives a sample a minute, to the millisecond, as long as the venue sends anything; a crossed book gives none.
 */

import { OrderBook } from '../../core/order-book.ts'
import type {
  BookDeltaObservation,
  BookLostObservation,
  BookSnapshotObservation,
} from '../../venues/observation.ts'
import { CARRY_FORWARD_MS, GRID_MS, gridOf } from '../shared/sample-grid.ts'

export const SAMPLE_GRACE_MS = 1_000
/** A pause of this length between two frames is no silence yet. */
const PAUSE_MS = 5_000

export interface MarketSampler {
  /** The book of an instrument; undefined for one that is not of this market. */
  book(instrument: string): OrderBook | undefined
  snapshot(observation: BookSnapshotObservation): void
  change(observation: BookDeltaObservation): void
  lost(observation: BookLostObservation): void
  /** Takes the samples that are due. */
  tick(nowMs: number): void
  /** Ranges that are over, hold a point of the grid, and in which the books may have been wrong. */
  takeDoubts(): readonly { fromMs: number; toMs: number }[]
  readonly isLive: boolean
  /** Until when all books were known, while one is not; undefined before the first was. */
  readonly lostSinceMs: number | undefined
}

export function sampleMarket(options: {
  instruments: readonly string[]
  /** Writes the books as they are now; false when they are the same as in the row before. */
  onSample: (gridMs: number, isCarried: boolean) => boolean
  /** When the venue last sent anything, of any market: silence does not prove that nothing has changed. */
  receivedToMs: () => number
}): MarketSampler {
  const books = new Map(options.instruments.map((instrument) => [instrument, new OrderBook()]))
  const live = new Set<string>()
  let lostSinceMs: number | undefined
  let changedMs = 0
  let isDirty = false
  let lastGridMs = Number.NEGATIVE_INFINITY
  let doubts: { fromMs: number; toMs: number }[] = []

  /** A market without known instruments has no live book. */
  const isLive = () => books.size > 0 && live.size === books.size

  function take(gridMs: number, isCarried: boolean): void {
    isDirty = false
    for (const book of books.values()) if (book.isCrossed()) return
    if (options.onSample(gridMs, isCarried)) lastGridMs = gridMs
  }

  /** Takes the samples that are due before a change: what was known until then belongs to earlier grid points. */
  function before(timeMs: number): number {
    const atMs = Math.max(timeMs, lastGridMs + 1, changedMs)
    carryForward(Math.min(atMs - 1, options.receivedToMs() + PAUSE_MS))
    if (isDirty && isLive() && gridOf(changedMs) < atMs) take(gridOf(changedMs), false)
    return atMs
  }

  /** The sample of an unchanged market that is due at or before an instant. */
  function carryForward(toMs: number): void {
    const nextMs = lastGridMs + CARRY_FORWARD_MS
    if (isDirty || !isLive()) return
    if (!Number.isFinite(nextMs)) take(Math.floor(toMs / GRID_MS) * GRID_MS, true)
    else if (nextMs <= toMs) take(nextMs, true)
  }

  function changed(atMs: number): void {
    changedMs = Math.max(atMs, lastGridMs + 1)
    isDirty = true
  }

  return {
    book: (instrument) => books.get(instrument),
    snapshot({ instrument, venueTimeMs, receivedMs, bids, asks }) {
      const book = books.get(instrument)
      if (book === undefined) return
      // The time of a book is that of its last change. One from before the loss counts from when it was received.
      const isOlder = !isLive() && venueTimeMs < (lostSinceMs ?? Number.POSITIVE_INFINITY)
      const atMs = before(isOlder ? Math.max(venueTimeMs, receivedMs) : venueTimeMs)
      book.replace(bids, asks)
      live.add(instrument)
      changed(atMs)
      if (!isLive()) return
      if (lostSinceMs !== undefined && gridOf(lostSinceMs + 1) < gridOf(changedMs))
        doubts.push({ fromMs: lostSinceMs, toMs: gridOf(changedMs) })
      lostSinceMs = undefined
    },
    change({ instrument, venueTimeMs, bids, asks }) {
      const book = books.get(instrument)
      if (book === undefined || !live.has(instrument)) return
      const atMs = before(venueTimeMs)
      for (const [price, size] of bids) book.set('bids', price, size)
      for (const [price, size] of asks) book.set('asks', price, size)
      changed(atMs)
    },
    lost({ instrument, sinceMs }) {
      if (!books.has(instrument) || !live.has(instrument)) return
      if (isDirty && isLive() && gridOf(changedMs) <= sinceMs) take(gridOf(changedMs), false)
      carryForward(sinceMs)
      isDirty = false
      live.delete(instrument)
      lostSinceMs = Math.min(lostSinceMs ?? sinceMs, sinceMs)
    },
    tick(nowMs) {
      if (!isLive()) return
      const dueMs = nowMs - SAMPLE_GRACE_MS
      carryForward(Math.min(dueMs, options.receivedToMs()))
      if (isDirty && gridOf(changedMs) <= dueMs) take(gridOf(changedMs), false)
    },
    takeDoubts() {
      if (doubts.length === 0) return doubts
      const taken = doubts
      doubts = []
      return taken
    },
    get isLive() {
      return isLive()
    },
    get lostSinceMs() {
      return lostSinceMs
    },
  }
}
