/** Reads rows that are packed into blocks (packed_rows), in the order of pages. */
import type { DatabaseSync } from 'node:sqlite'
import { SOURCES, type Source } from '../../core/source.ts'
import { type Arm, isAfter } from '../order/arms.ts'
import type { Batches } from '../order/merge-batches.ts'
import { lastOfBlock, type OpenBlock, openBlock } from '../rows/row-block.ts'
import type { RestingWork } from '../rows/work-in-turns.ts'
import type { Page, PageQuery, SeriesQuery } from '../series.ts'
import type { BlockCache } from './block-cache.ts'
import { neighbouringRows } from './packed-page.ts'
import { type Place, type Run, spanAfter, textOf } from './packed-run.ts'
import type { JoinedBlocks, StoredRow } from './series-page.ts'

export interface PackedReader {
  /** Whether any block of the feed has rows in [from, to). */
  has(feed: number, from: number, to: number): boolean
  /** The end of the newest block of the feed that begins before an instant. */
  endBefore(feed: number, ts: number): number | undefined
  /** The rows of an arm, at most `size` at once and at most one block at once. */
  batches(arm: Arm, query: SeriesQuery, size: number): Batches<StoredRow>
  /** A page as slices of blocks; undefined if it needs anything else. Rests after each block. */
  page(arms: readonly Arm[], query: PageQuery): RestingWork<Page | undefined>
  /**
   * All rows of a feed's blocks in [from, to), each followed by the separator of pages; undefined if there is no such
   * block.
   */
  joined(feed: number, from: number, to: number): JoinedBlocks | undefined
  /** The time of the first (`asc`) or last (`desc`) row in [from, to). */
  nearest(feed: number, order: 'asc' | 'desc', from: number, to: number): number | undefined
  /** The last row of an instrument in [from, to). */
  last(arm: Arm, instrument: string, from: number, to: number): StoredRow | undefined
  /** Whether no row of the feed in [from, to) lies outside blocks. */
  isAlone(feed: number, from: number, to: number): boolean
}

/** Memory that the columns of a row take besides its text. */
const ROW_WEIGHT = 40

export function packedReader(database: DatabaseSync, cache: BlockCache): PackedReader {
  // Blocks never change and their ids are never reused, so connections may share opened blocks.
  const opened = cache.part<OpenBlock>('packed', ({ text, count }) => text.length + count * ROW_WEIGHT)
  const place = (condition: string, order: string) =>
    database.prepare(
      `SELECT id, first_ts, last_ts FROM packed_rows WHERE feed = ? AND ${condition} ORDER BY first_ts ${order} LIMIT 1`,
      { returnArrays: true },
    )
  const statements = {
    atOrBefore: place('first_ts <= ?', 'DESC'),
    before: place('first_ts < ?', 'DESC'),
    after: place('first_ts > ?', 'ASC'),
  }
  const data = database.prepare('SELECT data FROM packed_rows WHERE id = ?')
  const beside = database.prepare('SELECT 1 FROM series_rows WHERE feed = ? AND ts >= ? AND ts < ? LIMIT 1')

  const find = (which: keyof typeof statements, feed: number, ts: number): Place | undefined => {
    const row = statements[which].get(feed, ts) as unknown as [number, number, number] | undefined
    return row === undefined ? undefined : { id: row[0], firstTs: row[1], lastTs: row[2] }
  }
  const open = (id: number): OpenBlock => {
    const known = opened.get(id)
    if (known !== undefined) return known
    const block = openBlock(data.get(id)?.data as Uint8Array)
    opened.set(id, block)
    return block
  }

  /** The blocks that have rows in [from, to), forwards or backwards. */
  function* places(feed: number, from: number, to: number, order: 'asc' | 'desc'): Generator<Place, void> {
    const first = order === 'asc' ? firstFrom(feed, from) : find('before', feed, to)
    for (let next = first; next !== undefined; ) {
      if (order === 'asc' ? next.firstTs >= to : next.lastTs < from) return
      yield next
      if (order === 'asc' ? next.lastTs + 1 >= to : next.firstTs <= from) return
      next = find(order === 'asc' ? 'after' : 'before', feed, next.firstTs)
    }
  }
  const firstFrom = (feed: number, from: number): Place | undefined => {
    const holding = find('atOrBefore', feed, from)
    return holding !== undefined && holding.lastTs >= from ? holding : find('after', feed, from)
  }
  const runOf = ({ id, firstTs, lastTs }: Place, from: number, to: number): Run => {
    const block = open(id)
    const low = firstTs >= from ? 0 : indexOf(block.ts, from)
    return { block, low, high: lastTs < to ? block.count : indexOf(block.ts, to) }
  }
  const isAlone = (feed: number, from: number, to: number) => beside.get(feed, from, to) === undefined

  return {
    has(feed, from, to) {
      const last = find('before', feed, to)
      return last !== undefined && last.lastTs >= from
    },
    endBefore: (feed, ts) => find('before', feed, ts)?.lastTs,
    joined(feed, from, to) {
      const found = [...places(feed, from, to, 'asc')]
      if (found.length === 0) return undefined
      const wasUnpacked = found.some(({ id }) => opened.get(id) === undefined)
      const runs = found.map((each) => runOf(each, from, to))
      return {
        wasUnpacked,
        text: runs.map(textOf).join(''),
        times: runs.flatMap(({ block, low, high }) => [...block.ts.subarray(low, high)]),
      }
    },
    page: (arms, query) => neighbouringRows(arms, query, { places, runOf, isAlone }),
    *batches(arm, query, size) {
      const { order, filters } = query
      if (filters?.open === true) return
      const [from, to] = spanAfter(query)
      const source = SOURCES[arm.rank] as Source
      for (const each of places(arm.feed, from, to, order)) {
        const { block, low, high } = runOf(each, from, to)
        let found: StoredRow[] = []
        for (let at = low; at < high; at++) {
          const index = order === 'asc' ? at : low + high - 1 - at
          const instrument = block.instrument(index)
          if (arm.instrument !== undefined && arm.instrument !== instrument) continue
          if (filters?.side !== undefined && filters.side !== block.side(index)) continue
          const usd = block.usd(index)
          if (filters?.minUsd !== undefined && !(usd !== null && usd >= filters.minUsd)) continue
          const position = { ts: block.ts[index] ?? 0, source, instrument, seq: block.seq(index) }
          if (!isAfter(position, query)) continue
          found.push({ feed: arm.feed, position, text: block.row(index) })
          if (found.length < size) continue
          yield found
          found = []
        }
        yield found
      }
    },
    nearest(feed, order, from, to) {
      for (const each of places(feed, from, to, order)) {
        // Usually this is the end of a block, which need not be opened.
        if (order === 'asc' && each.firstTs >= from) return each.firstTs
        if (order === 'desc' && each.lastTs < to) return each.lastTs
        const { block, low, high } = runOf(each, from, to)
        if (low < high) return block.ts[order === 'asc' ? low : high - 1]
      }
      return undefined
    },
    last(arm, instrument, from, to) {
      const source = SOURCES[arm.rank] as Source
      for (const each of places(arm.feed, from, to, 'desc')) {
        // Snapshots without instruments have one row per instant, so the last row is found without opening the block.
        if (instrument === '' && each.lastTs < to && opened.get(each.id) === undefined) {
          const text = lastOfBlock(data.get(each.id)?.data as Uint8Array)
          const position = { ts: each.lastTs, source, instrument, seq: 0 }
          if (text !== undefined) return { feed: arm.feed, position, text }
        }
        const { block, low, high } = runOf(each, from, to)
        for (let i = high - 1; i >= low; i--) {
          if (block.instrument(i) !== instrument) continue
          const position = { ts: block.ts[i] ?? 0, source, instrument, seq: block.seq(i) }
          return { feed: arm.feed, position, text: block.row(i) }
        }
      }
      return undefined
    },
    isAlone,
  }
}

/** Index of the first time at or after an instant. */
function indexOf(times: Float64Array, ts: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((times[middle] ?? 0) < ts) low = middle + 1
    else high = middle
  }
  return low
}
