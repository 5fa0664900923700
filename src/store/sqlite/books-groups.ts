/** Reads groups of rows (see books-write.ts): the keys of a block and its tail as one list, and the rows behind them. */
import type { DatabaseSync } from 'node:sqlite'
import { Lru } from '../../kit/lru.ts'
import { type BookBlock, decodeBlock, spanOf } from './books-block.ts'
import { type BookRow, type Side, sidesOf } from './books-row.ts'

/** Unpacked blocks that are kept: neighbouring pages read the same ones. */
const MAX_CACHED_BYTES = 64 * 1024 * 1024

/** The rows of one market in one span, by (time, sequence). */
export interface GroupView {
  readonly feed: number
  readonly instrument: string
  readonly ts: readonly number[]
  readonly seq: readonly number[]
  /** The rows at these indexes, which ascend. */
  rows(indexes: readonly number[]): BookRow[]
}

const SIDE = /"side":"(\w+)"/
const sidesOfViews = new WeakMap<GroupView, (string | undefined)[]>()

/** Which rows of a group say this side. */
export function ofSide(view: GroupView, side: string): (index: number) => boolean {
  const known = sidesOfViews.get(view)
  const sides = known ?? view.rows([...view.ts.keys()]).map(({ text }) => SIDE.exec(text)?.[1])
  if (known === undefined) sidesOfViews.set(view, sides)
  return (index) => sides[index] === side
}

/** Of one state of the file: what it has looked at once it does not look at again. */
export interface GroupReader {
  /** The nearest span that has rows, at or after (before) the one given. */
  nearestSpan(
    feed: number,
    instrument: string | undefined,
    order: 'asc' | 'desc',
    span: number,
  ): number | undefined
  /** All groups of a feed in a span. */
  views(feed: number, span: number): GroupView[]
  view(feed: number, span: number, instrument: string): GroupView | undefined
  instruments(feed: number, fromSpan: number, toSpan: number): string[]
}

interface Found {
  id: number
  version: number
  waiting: boolean
}

/** Views that a reader may hold to be used for the next page. */
const MAX_KEPT_VIEWS = 1_000

/** Gives the reader of the state that the current transaction sees; pages of one state share one. */
export function groupReaders(database: DatabaseSync): () => GroupReader {
  const committed = database.prepare('PRAGMA data_version')
  const own = database.prepare('SELECT total_changes() AS n')
  let last: { state: string; reader: GroupReader; views: Map<string, unknown> } | undefined
  const nearest = {
    asc: {
      all: database.prepare('SELECT min(span) AS span FROM book_groups WHERE feed = ? AND span >= ?'),
      one: database.prepare(
        'SELECT min(span) AS span FROM book_groups WHERE feed = ? AND span >= ? AND instrument = ?',
      ),
    },
    desc: {
      all: database.prepare('SELECT max(span) AS span FROM book_groups WHERE feed = ? AND span <= ?'),
      one: database.prepare(
        'SELECT max(span) AS span FROM book_groups WHERE feed = ? AND span <= ? AND instrument = ?',
      ),
    },
  }
  const inSpan = database.prepare(
    'SELECT id, instrument, version, waiting FROM book_groups WHERE feed = ? AND span = ?',
  )
  const one = database.prepare(
    'SELECT id, instrument, version, waiting FROM book_groups WHERE feed = ? AND span = ? AND instrument = ?',
  )
  const listed = database.prepare(
    'SELECT DISTINCT instrument FROM book_groups WHERE feed = ? AND span BETWEEN ? AND ?',
  )
  const data = database.prepare('SELECT data FROM book_blocks WHERE id = ?')
  const tailKeys = database.prepare('SELECT ts, seq FROM book_tail WHERE block = ? ORDER BY ts, seq')
  const tail = database.prepare('SELECT ts, seq, recorded_at, text, sides FROM book_tail WHERE block = ?')
  const blocks = new Lru<number, { version: number; block: BookBlock }>({
    maxEntries: 10_000,
    maxWeight: MAX_CACHED_BYTES,
    weigh: ({ block }) => block.bytes,
  })

  const readBlock = (id: number, version: number, span: number): BookBlock | undefined => {
    const hit = blocks.get(id)
    if (hit !== undefined && hit.version === version) return hit.block
    const found = data.get(id)
    if (found === undefined) return undefined
    const block = decodeBlock(found.data as Uint8Array, span)
    blocks.set(id, { version, block })
    return block
  }

  const viewOf = (feed: number, span: number, instrument: string, found: Found): GroupView => {
    const block = readBlock(found.id, found.version, span)
    const keys: readonly [number, number][] = found.waiting
      ? tailKeys.all(found.id).map(({ ts, seq }) => [Number(ts), Number(seq)])
      : []
    if (block !== undefined && keys.length === 0)
      return { feed, instrument, ts: block.ts, seq: block.seq, rows: (indexes) => block.rows(indexes) }
    let rows: Map<string, BookRow> | undefined
    return mergedView(feed, instrument, block, keys, (ts, seq) => {
      rows ??= new Map(tail.all(found.id).map((row) => [`${row.ts}/${row.seq}`, tailRowOf(row)]))
      const row = rows.get(`${ts}/${seq}`)
      if (row === undefined) throw new Error(`the row of ${instrument} at ${ts} is missing`)
      return row
    })
  }

  return () => {
    const state = `${committed.get()?.data_version}/${own.get()?.n}`
    if (last?.state === state && last.views.size < MAX_KEPT_VIEWS) return last.reader
    const views = new Map<string, GroupView | undefined>()
    const remember = (
      feed: number,
      span: number,
      row: Record<string, unknown> | undefined,
      instrument: string,
    ) => {
      const key = `${feed}/${span}/${instrument}`
      if (!views.has(key)) {
        const found = row && {
          id: Number(row.id),
          version: Number(row.version),
          waiting: row.waiting === 1,
        }
        views.set(key, found && viewOf(feed, span, instrument, found))
      }
      return views.get(key)
    }
    const spans = new Map<string, GroupView[]>()
    const reader: GroupReader = {
      nearestSpan(feed, instrument, order, span) {
        const found =
          instrument === undefined
            ? nearest[order].all.get(feed, span)
            : nearest[order].one.get(feed, span, instrument)
        return typeof found?.span === 'number' ? found.span : undefined
      },
      views(feed, span) {
        const key = `${feed}/${span}`
        let list = spans.get(key)
        if (list === undefined) {
          list = inSpan
            .all(feed, span)
            .map((row) => remember(feed, span, row, String(row.instrument)))
            .filter((view) => view !== undefined)
          spans.set(key, list)
        }
        return list
      },
      view(feed, span, instrument) {
        const key = `${feed}/${span}/${instrument}`
        if (views.has(key)) return views.get(key)
        return remember(feed, span, one.get(feed, span, instrument), instrument)
      },
      instruments: (feed, fromSpan, toSpan) =>
        listed.all(feed, fromSpan, toSpan).map((row) => String(row.instrument)),
    }
    last = { state, reader, views }
    return reader
  }
}

/** Books are unpacked where they are looked at. */
function tailRowOf(row: Record<string, unknown>): BookRow {
  let sides: Side[] | undefined
  return {
    ts: Number(row.ts),
    seq: Number(row.seq),
    recordedAt: Number(row.recorded_at),
    text: String(row.text),
    get sides() {
      sides ??= sidesOf(String(row.sides))
      return sides
    },
  }
}

/** Two sorted lists as one; at the same key the tail wins. */
function mergedView(
  feed: number,
  instrument: string,
  block: BookBlock | undefined,
  tail: readonly [number, number][],
  readTail: (ts: number, seq: number) => BookRow,
): GroupView {
  const ts: number[] = []
  const seq: number[] = []
  /** Index in the block, or -1. */
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
  for (let from = spanOf(edge.ts); ; ) {
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
}
