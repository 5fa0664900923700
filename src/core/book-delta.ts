/**
 * The difference of two books as sets of levels: a level whose size changed is removed with its old size and
 * added with its new one. Removing and then adding turns the first book into the second, level for level.
 */
import type { BookLevels, TextLevel } from './order-book.ts'

export interface BookDelta {
  readonly bids_added: readonly TextLevel[]
  readonly bids_removed: readonly TextLevel[]
  readonly asks_added: readonly TextLevel[]
  readonly asks_removed: readonly TextLevel[]
}

export function diffBooks(before: BookLevels, after: BookLevels): BookDelta {
  return {
    bids_added: without(after.bids, before.bids),
    bids_removed: without(before.bids, after.bids),
    asks_added: without(after.asks, before.asks),
    asks_removed: without(before.asks, after.asks),
  }
}

export function applyDelta(before: BookLevels, diff: BookDelta): BookLevels {
  const turn = (levels: readonly TextLevel[], removed: readonly TextLevel[], added: readonly TextLevel[]) => [
    ...without(levels, removed),
    ...added,
  ]
  return {
    bids: turn(before.bids, diff.bids_removed, diff.bids_added).sort((a, b) => Number(b[0]) - Number(a[0])),
    asks: turn(before.asks, diff.asks_removed, diff.asks_added).sort((a, b) => Number(a[0]) - Number(b[0])),
  }
}

function without(levels: readonly TextLevel[], others: readonly TextLevel[]): TextLevel[] {
  const known = new Map(others.map(([price, size]) => [price, size]))
  return levels.filter(([price, size]) => known.get(price) !== size)
}
