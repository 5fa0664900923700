/** A group is one instrument over a span of ten minutes: compressed blocks, and a tail of rows not in them yet. */
import type { Feed } from '../../core/feed.ts'
import type { RestingWork } from '../rows/work-in-turns.ts'
import { type BookBlock, spanOf } from './block.ts'
import { type BookRow, compareKeys } from './book-row.ts'
import { unpackSides } from './pack-sides.ts'

/**
 * Whether the rows of a feed are stored in compressed groups instead of one row each: snapshots and trades of
 * prediction markets, which are numerous, similar, and never open.
 */
export function isGrouped({ dataset, source }: Feed): boolean {
  return (
    (dataset === 'snapshots' || dataset === 'trades') && (source === 'predmkt_a' || source === 'predmkt_b')
  )
}

/** The rows of one market in one span, by (time, sequence). */
export interface GroupView {
  readonly feed: number
  readonly instrument: string
  readonly ts: readonly number[]
  readonly seq: readonly number[]
  /**
   * Reads what `rows` needs from the store for these indexes, so that `rows` still works after the store has changed.
   */
  load(indexes: readonly number[]): void
  /** The rows at these indexes, which must ascend. */
  rows(indexes: readonly number[]): BookRow[]
}

const SIDE = /"side":"(\w+)"/
const sidesOfViews = new WeakMap<GroupView, (string | undefined)[]>()

/** Tells which rows of a group have this side. */
export function ofSide(view: GroupView, side: string): (index: number) => boolean {
  const known = sidesOfViews.get(view)
  const sides = known ?? view.rows([...view.ts.keys()]).map(({ text }) => SIDE.exec(text)?.[1])
  if (known === undefined) sidesOfViews.set(view, sides)
  return (index) => sides[index] === side
}

/** Reads one state of the data; nothing is read twice. */
export interface GroupReader {
  /** The nearest span with rows, at or after (`asc`) or at or before (`desc`) the given one. */
  nearestSpan(
    feed: number,
    instrument: string | undefined,
    order: 'asc' | 'desc',
    span: number,
  ): number | undefined
  /** All groups of a feed in a span, in turns because unpacking many takes long. */
  viewsInTurns(feed: number, span: number): RestingWork<GroupView[]>
  view(feed: number, span: number, instrument: string): GroupView | undefined
  instruments(feed: number, fromSpan: number, toSpan: number): string[]
}

/** Books are unpacked only when they are used. */
export function tailRowOf(row: Record<string, unknown>): BookRow {
  let sides: BookRow['sides'] | undefined
  return {
    ts: Number(row.ts),
    seq: Number(row.seq),
    recordedAt: Number(row.recorded_at),
    text: String(row.text),
    get sides() {
      sides ??= unpackSides(row.sides as Uint8Array)
      return sides
    },
  }
}

/** The rows of a block and its tail, sorted; for equal keys the row of the tail is taken. */
export function mergedRows(block: readonly BookRow[], tail: readonly BookRow[]): BookRow[] {
  const rows = new Map<string, BookRow>()
  for (const row of [...block, ...tail]) rows.set(`${row.ts}/${row.seq}`, row)
  return [...rows.values()].sort(compareKeys)
}

/** Finds the row with a key in a sorted list. */
export function rowAt(rows: readonly BookRow[], ts: number, seq: number): BookRow | undefined {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareKeys(rows[middle] as BookRow, { ts, seq }) < 0) low = middle + 1
    else high = middle
  }
  const row = rows[low]
  return row !== undefined && row.ts === ts && row.seq === seq ? row : undefined
}

/** Like `mergedRows`, but merges two sorted lists of keys without unpacking the rows. */
export function mergedView(
  feed: number,
  instrument: string,
  block: BookBlock | undefined,
  tail: readonly [number, number][],
  readTail: (ts: number, seq: number) => BookRow,
): GroupView {
  const ts: number[] = []
  const seq: number[] = []
  /** Index in the block, or -1 for a row of the tail. */
  const places: number[] = []
  const count = block?.ts.length ?? 0
  let [i, j] = [0, 0]
  while (i < count || j < tail.length) {
    const own = block !== undefined && i < count ? ([block.ts[i], block.seq[i]] as [number, number]) : END
    const late = tail[j] ?? END
    const order = own[0] - late[0] || own[1] - late[1]
    const [time, sequence] = order < 0 ? own : late
    ts.push(time)
    seq.push(sequence)
    places.push(order < 0 ? i : -1)
    if (order <= 0) i++
    if (order >= 0) j++
  }
  return {
    feed,
    instrument,
    ts,
    seq,
    load(indexes) {
      for (const index of indexes) if ((places[index] ?? -1) < 0) readTail(ts[index] ?? 0, seq[index] ?? 0)
    },
    rows(indexes) {
      const inBlock = indexes.map((index) => places[index] ?? -1).filter((place) => place >= 0)
      const blockRows = inBlock.length === 0 ? [] : (block?.rows(inBlock) ?? [])
      let next = 0
      return indexes.map((index) => {
        if ((places[index] ?? -1) < 0) return readTail(ts[index] ?? 0, seq[index] ?? 0)
        return blockRows[next++] as BookRow
      })
    },
  }
}

/** The view of a group without a tail. */
export function blockView(feed: number, instrument: string, block: BookBlock): GroupView {
  const { ts, seq } = block
  return { feed, instrument, ts, seq, load: () => undefined, rows: (indexes) => block.rows(indexes) }
}

const END: [number, number] = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]

/** The first index whose time is at or above `ts`. */
export function lowerBound(times: readonly number[], ts: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((times[middle] ?? 0) < ts) low = middle + 1
    else high = middle
  }
  return low
}

/** The last row of a market at or before a key, not before `notBefore`. */
export function lastBefore(
  groups: GroupReader,
  feed: number,
  instrument: string,
  edge: { ts: number; seq: number },
  notBefore: number,
): { view: GroupView; index: number } | undefined {
  for (let from = spanOf(edge.ts); from >= spanOf(notBefore); ) {
    const span = groups.nearestSpan(feed, instrument, 'desc', from)
    if (span === undefined || span < spanOf(notBefore)) return undefined
    const view = groups.view(feed, span, instrument)
    if (view !== undefined) {
      let index = lowerBound(view.ts, edge.ts + 1) - 1
      while (index >= 0 && view.ts[index] === edge.ts && (view.seq[index] ?? 0) > edge.seq) index--
      if (index >= 0) return (view.ts[index] ?? 0) >= notBefore ? { view, index } : undefined
    }
    from = span - 1
  }
  return undefined
}
