/**
 * Books on a grid of 500 ms aligned to the clock. The sample of a grid point is the last book at or before it; a
 * row is written when the book differs from the last row, and once a minute when it does not (a carried-forward row). While
 * the newest book is older than `staleAfterMs` there is no sample: an old book is not a book.
 *
 * A grid point is judged `graceMs` after its time, so that late books still count.
 */
import type { Level } from '../../venues/observation.ts'
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

  function bookAt(gridMs: number): BookState | undefined {
    let found: BookState | undefined
    for (const book of received) {
      if (book.timeMs > gridMs) continue
      if (found === undefined || book.timeMs >= found.timeMs) found = book
    }
    return found !== undefined && gridMs - found.timeMs <= options.staleAfterMs ? found : undefined
  }

  const isKnown = (book: BookState) => lastRow !== undefined && isSameBook(lastRow.book, book)

  return {
    receive(book: BookState) {
      nextMs ??= Math.ceil(book.timeMs / GRID_MS) * GRID_MS
      received.push(book)
      if (received.length > MAX_KEPT) received = received.slice(-MAX_KEPT)
    },
    /** The rows of all grid points up to an instant that were not judged yet. */
    sample: (nowMs: number): { timeMs: number; book: BookState }[] => judge(nowMs - options.graceMs),
    /** The connection was lost at an instant: the rows up to it; received books do not count after it. */
    cut(atMs: number): { timeMs: number; book: BookState }[] {
      const rows = judge(atMs)
      received = []
      lastRow = undefined
      return rows
    },
  }

  function judge(dueMs: number): { timeMs: number; book: BookState }[] {
    const rows: { timeMs: number; book: BookState }[] = []
    if (nextMs === undefined) return rows
    // After a long pause only the recent points can be judged.
    const oldestMs = Math.floor((dueMs - options.staleAfterMs) / GRID_MS) * GRID_MS
    if (nextMs < oldestMs) nextMs = oldestMs
    for (; nextMs <= dueMs; nextMs += GRID_MS) {
      const book = bookAt(nextMs)
      if (book === undefined) continue
      const isDue = lastRow === undefined || nextMs - lastRow.timeMs >= CARRY_FORWARD_MS
      if (!isDue && isKnown(book)) continue
      lastRow = { timeMs: nextMs, book }
      rows.push(lastRow)
    }
    const keepFromMs = dueMs - options.staleAfterMs
    received = received.filter((book) => book.timeMs >= keepFromMs)
    return rows
  }
}

/** Level by level: two books of different depth are not the same. */
function isSameBook(a: BookState, b: BookState): boolean {
  const same = (x: readonly Level[], y: readonly Level[]) =>
    x.length === y.length && x.every(([price, size], i) => price === y[i]?.[0] && size === y[i]?.[1])
  return same(a.bids, b.bids) && same(a.asks, b.asks)
}
