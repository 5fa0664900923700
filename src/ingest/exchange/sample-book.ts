/**
 * Samples books on a grid of 500 ms aligned to the clock. The sample of a grid point is the last book at or before it.
 * A row is written when the book differs from the last row, and once a minute when it does not (a carried-forward row).
 * While the newest book is older than `staleAfterMs` there is no sample, because the real book may have changed since.
 *
 * A grid point is judged `graceMs` after its time, so that late books still count. A book that arrives later, after a
 * newer one, shows that the samples in between used an older book: they are judged again. If they are older than
 * `staleAfterMs`, their time is lost instead, unless it is already final. While the store fails nothing is judged;
 * books that do not fit into memory until it recovers are lost too. `takeLost` returns the lost time.
 */
import type { Level } from '../../venues/observation.ts'
import { MAX_OVERTAKEN_MS } from '../../venues/plausible-bounds.ts'
import { CARRY_FORWARD_MS, GRID_MS } from '../shared/sample-grid.ts'

export interface BookState {
  readonly timeMs: number
  readonly bids: readonly Level[]
  readonly asks: readonly Level[]
}

export type BookSampler = ReturnType<typeof sampleBook>

const MAX_KEPT = 64

export function sampleBook(options: { staleAfterMs: number; graceMs: number }) {
  let received: BookState[] = []
  let nextMs: number | undefined
  let lastRow: { timeMs: number; book: BookState } | undefined
  let lost: { fromMs: number; toMs: number } | undefined
  /** When the connection was last lost. */
  let sinceMs = Number.NEGATIVE_INFINITY
  /** The grid point from which samples have to be judged again. */
  let againMs = Number.POSITIVE_INFINITY
  /** Times of the newest rows. */
  let written: number[] = []

  function bookAt(gridMs: number): BookState | undefined {
    let found: BookState | undefined
    for (const book of received) {
      if (book.timeMs > gridMs) continue
      if (found === undefined || book.timeMs >= found.timeMs) found = book
    }
    return found !== undefined && gridMs - found.timeMs <= options.staleAfterMs ? found : undefined
  }

  /** Skips time without a book at once, because a wrong clock, ours or the venue's, can make it years long. */
  function beforeNextBook(gridMs: number, dueMs: number): number {
    const nextMs = received.reduce(
      (least, { timeMs }) => (timeMs > gridMs ? Math.min(least, timeMs) : least),
      dueMs + 1,
    )
    return (Math.ceil(nextMs / GRID_MS) - 1) * GRID_MS
  }

  const isKnown = (book: BookState) => lastRow !== undefined && isSameBook(lastRow.book, book)

  const isTooLate = (gridMs: number) => nextMs !== undefined && gridMs < nextMs - options.staleAfterMs

  /** Whether the book changes the sample of a grid point that was already judged. */
  function isNews(book: BookState, gridMs: number): boolean {
    if (gridMs <= sinceMs) return false
    const sampled = bookAt(gridMs)
    return sampled === undefined || (sampled.timeMs < book.timeMs && !isSameBook(sampled, book))
  }

  function lose(fromMs: number, toMs: number): void {
    lost = { fromMs: Math.min(lost?.fromMs ?? fromMs, fromMs), toMs: Math.max(lost?.toMs ?? toMs, toMs) }
  }

  return {
    /** Returns false if the book came too late to be sampled and no newer book is known. */
    receive(book: BookState): boolean {
      const gridMs = Math.ceil(book.timeMs / GRID_MS) * GRID_MS
      nextMs ??= gridMs
      if (isTooLate(gridMs)) {
        const newer = received.filter(({ timeMs }) => timeMs > book.timeMs).map(({ timeMs }) => timeMs)
        if (gridMs > Math.max(sinceMs, nextMs - MAX_OVERTAKEN_MS))
          lose(book.timeMs, Math.min(...newer, nextMs))
        return newer.length > 0
      }
      if (gridMs < nextMs && isNews(book, gridMs)) againMs = Math.min(againMs, gridMs)
      received.push(book)
      if (received.length <= MAX_KEPT) return true
      const [oldest, next] = received
      received.shift()
      if (oldest === undefined || next === undefined || nextMs > next.timeMs) return true
      lose(nextMs, Math.max(next.timeMs, nextMs))
      nextMs = Math.ceil(Math.max(next.timeMs, nextMs) / GRID_MS) * GRID_MS
      return true
    },
    /** The time whose books were lost before they could be sampled; undefined if none was lost since the last call. */
    takeLost() {
      const taken = lost
      lost = undefined
      return taken
    },
    /** The first grid point that has not been judged yet. */
    get waitingMs(): number {
      return nextMs ?? Number.POSITIVE_INFINITY
    },
    /** The rows of all grid points up to an instant that have not been judged yet. */
    sample: (nowMs: number): { timeMs: number; book: BookState }[] => judge(nowMs - options.graceMs),
    /** The connection was lost at this instant: returns the rows up to it, and forgets the received books. */
    cut(atMs: number): { timeMs: number; book: BookState }[] {
      const rows = judge(atMs)
      received = []
      lastRow = undefined
      sinceMs = atMs
      return rows
    },
  }

  function judge(dueMs: number): { timeMs: number; book: BookState }[] {
    const rows: { timeMs: number; book: BookState }[] = []
    if (nextMs === undefined) return rows
    // There is nothing to judge before the oldest book, however long ago the last call was.
    const oldestMs = received.reduce((least, { timeMs }) => Math.min(least, timeMs), dueMs)
    nextMs = Math.max(nextMs, Math.floor(oldestMs / GRID_MS) * GRID_MS)
    if (againMs < nextMs) {
      nextMs = againMs
      lastRow = undefined
    }
    for (; nextMs <= dueMs; nextMs += GRID_MS) {
      const book = bookAt(nextMs)
      if (book === undefined) {
        nextMs = beforeNextBook(nextMs, dueMs)
        continue
      }
      const isDue = lastRow === undefined || nextMs - lastRow.timeMs >= CARRY_FORWARD_MS
      const isWrong = againMs < nextMs && written.includes(nextMs)
      if (!isDue && !isWrong && isKnown(book)) continue
      lastRow = { timeMs: nextMs, book }
      rows.push(lastRow)
    }
    againMs = Number.POSITIVE_INFINITY
    const oldestRowMs = dueMs - options.staleAfterMs
    written = [...written, ...rows.map(({ timeMs }) => timeMs)].filter((timeMs) => timeMs >= oldestRowMs)
    const keepFromMs = dueMs - options.staleAfterMs
    received = received.filter((book) => book.timeMs >= keepFromMs)
    return rows
  }
}

/** Compares level by level, so books of different depth are never the same. */
function isSameBook(a: BookState, b: BookState): boolean {
  const same = (x: readonly Level[], y: readonly Level[]) =>
    x.length === y.length && x.every(([price, size], i) => price === y[i]?.[0] && size === y[i]?.[1])
  return same(a.bids, b.bids) && same(a.asks, b.asks)
}
