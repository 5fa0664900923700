/**
 * An order book from a snapshot and the changes after it, as the venues number them.
 *
 *   empty ──snapshot──▶ synced ──diff in sequence──▶ synced
 *     ▲                    │
 *     ╰─── sequence broken: stale, diffs are kept (bounded) until a snapshot fits them
 *
 * A diff that ends before the snapshot is old; the first one used must span the number after the snapshot's; each
 * later one must follow the one before (`previousUpdateId` where the venue chains them, else last + 1). Diffs that
 * arrive while a snapshot is on its way are kept, so a resync loses no update.
 */
import type { BookDiffObservation, BookSnapshotObservation, Level } from '../venues/observation.ts'

export const MAX_KEPT_DIFFS = 4_096

export interface KeptBook {
  /** Undefined while the book is not in step with the venue. */
  top(depth: number): { bids: Level[]; asks: Level[]; timeMs: number } | undefined
  readonly isSynced: boolean
  /** True when a snapshot is needed. */
  apply(diff: BookDiffObservation): boolean
  /** True when the book is in step afterwards. */
  load(snapshot: BookSnapshotObservation): boolean
  reset(): void
  readonly resyncs: number
}

export function keepBook(): KeptBook {
  const bids = new Map<string, Level>()
  const asks = new Map<string, Level>()
  let kept: BookDiffObservation[] = []
  let lastId: number | undefined
  let isFirst = true
  let timeMs = 0
  let resyncs = 0

  function merge(side: Map<string, Level>, levels: readonly Level[]): void {
    for (const level of levels) {
      if (Number(level[1]) === 0) side.delete(level[0])
      else side.set(level[0], level)
    }
  }

  function follows(diff: BookDiffObservation, last: number): boolean {
    if (isFirst) return diff.firstUpdateId <= last + 1 && diff.lastUpdateId >= last
    return diff.previousUpdateId === null ? diff.firstUpdateId === last + 1 : diff.previousUpdateId === last
  }

  /** False when the diff does not follow. */
  function use(diff: BookDiffObservation): boolean {
    if (lastId === undefined) return false
    if (diff.lastUpdateId <= lastId) return true
    if (!follows(diff, lastId)) return false
    merge(bids, diff.bids)
    merge(asks, diff.asks)
    lastId = diff.lastUpdateId
    timeMs = diff.venueTimeMs
    isFirst = false
    return true
  }

  function lose(): void {
    if (lastId !== undefined) resyncs += 1
    lastId = undefined
    bids.clear()
    asks.clear()
  }

  const sorted = (side: Map<string, Level>, direction: 1 | -1, depth: number) =>
    [...side.values()].sort((a, b) => (Number(a[0]) - Number(b[0])) * direction).slice(0, depth)

  return {
    top: (depth) =>
      lastId === undefined
        ? undefined
        : { bids: sorted(bids, -1, depth), asks: sorted(asks, 1, depth), timeMs },
    get isSynced() {
      return lastId !== undefined
    },
    apply(diff) {
      if (lastId !== undefined && use(diff)) return false
      lose()
      kept.push(diff)
      if (kept.length > MAX_KEPT_DIFFS) kept = kept.slice(-MAX_KEPT_DIFFS)
      return true
    },
    load(snapshot) {
      lose()
      if (snapshot.lastUpdateId === null)
        throw new RangeError('a snapshot without a number cannot be followed')
      lastId = snapshot.lastUpdateId
      timeMs = snapshot.venueTimeMs
      isFirst = true
      merge(bids, snapshot.bids)
      merge(asks, snapshot.asks)
      for (const [index, diff] of kept.entries()) {
        if (use(diff)) continue
        // A hole between the snapshot and what was kept: a newer snapshot is needed, the newer diffs stay.
        kept = kept.slice(index)
        lose()
        return false
      }
      kept = []
      return true
    },
    reset() {
      lose()
      kept = []
    },
    get resyncs() {
      return resyncs
    },
  }
}
