/** Reads rows that lie in blocks (packed_rows), in the order of pages. */
import type { DatabaseSync } from 'node:sqlite'
import { SOURCES, type Source } from '../../core/source.ts'
import { Lru } from '../../kit/lru.ts'
import { type Arm, endOf, isAfter } from '../order/arms.ts'
import { lastOfBlock, type OpenBlock, openBlock, PAGE_SEPARATOR } from '../rows/row-block.ts'
import type { Page, PageQuery, Position, SeriesQuery } from '../series.ts'
import type { StoredRow } from './series-page.ts'

export interface PackedReader {
  /** Whether some block of the feed has rows in [from, to). */
  has(feed: number, from: number, to: number): boolean
  /** The end of the newest block of the feed that begins before an instant. */
  endBefore(feed: number, ts: number): number | undefined
  /** Up to `limit` of each arm. */
  rows(arms: readonly Arm[], query: SeriesQuery, limit: number): StoredRow[]
  /** A page of one feed as slices of its blocks; undefined where it takes more than that. */
  page(arms: readonly Arm[], query: PageQuery): Page | undefined
  /** Those of one feed in [from, to) and nothing else, with the separator of pages after each; undefined without a block. */
  joined(feed: number, from: number, to: number): JoinedBlocks | undefined
  /** The time of the first (last) row in [from, to). */
  nearest(feed: number, order: 'asc' | 'desc', from: number, to: number): number | undefined
  /** The last row of an arm's instrument in [from, to). */
  last(arm: Arm, instrument: string, from: number, to: number): StoredRow | undefined
  /** Whether no row of the feed in [from, to) lies outside of blocks. */
  isAlone(feed: number, from: number, to: number): boolean
}

interface JoinedBlocks {
  readonly text: string
  readonly times: number[]
}

interface Place {
  id: number
  firstTs: number
  lastTs: number
}

/** Rows of a block that lie in a range: [low, high). */
interface Run {
  readonly block: OpenBlock
  readonly low: number
  readonly high: number
}

/** What the columns of a row take beside its text. */
const ROW_WEIGHT = 40

/** Blocks are never changed, and their ids never used again: connections may share what is opened of them. */
type OpenBlocks = Lru<number, OpenBlock>

export function openBlocks(maxBytes: number): OpenBlocks {
  return new Lru({
    maxEntries: Math.max(1, maxBytes / 1024),
    maxWeight: maxBytes,
    weigh: ({ text, count }) => text.length + count * ROW_WEIGHT,
  })
}

export function packedReader(database: DatabaseSync, opened: OpenBlocks): PackedReader {
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
  function* places(feed: number, from: number, to: number, order: 'asc' | 'desc'): Iterable<Place> {
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
  /** Blocks are opened as far as rows are taken. */
  function* walk(
    feed: number,
    from: number,
    to: number,
    order: 'asc' | 'desc',
  ): Iterable<[OpenBlock, number]> {
    for (const each of places(feed, from, to, order)) {
      const { block, low, high } = runOf(each, from, to)
      if (order === 'asc') for (let i = low; i < high; i++) yield [block, i]
      else for (let i = high - 1; i >= low; i--) yield [block, i]
    }
  }
  const isAlone = (feed: number, from: number, to: number) => beside.get(feed, from, to) === undefined

  return {
    has(feed, from, to) {
      const last = find('before', feed, to)
      return last !== undefined && last.lastTs >= from
    },
    endBefore: (feed, ts) => find('before', feed, ts)?.lastTs,
    joined(feed, from, to) {
      const runs = [...places(feed, from, to, 'asc')].map((each) => runOf(each, from, to))
      if (runs.length === 0) return undefined
      return {
        text: runs.map(textOf).join(''),
        times: runs.flatMap(({ block, low, high }) => block.ts.slice(low, high)),
      }
    },
    page(arms, query) {
      const [arm] = arms
      const { order, limit } = query
      if (arm === undefined || arms.length > 1 || !isOfNeighbours(arm, query)) return undefined
      const [from, to] = spanOf(query)
      const source = SOURCES[arm.rank] as Source
      const texts: string[] = []
      let [count, hasMore] = [0, false]
      let [first, last]: (Position | undefined)[] = []
      for (const each of places(arm.feed, from, to, order)) {
        if (count === limit) {
          hasMore = true
          break
        }
        const run = runOf(each, from, to)
        const { block } = run
        const position = (index: number): Position => ({
          ts: block.ts[index] ?? 0,
          source,
          instrument: block.instrument(index),
          seq: block.seq(index),
        })
        let { low, high } = run
        if (order === 'asc') while (low < high && !isAfter(position(low), query)) low++
        else while (low < high && !isAfter(position(high - 1), query)) high--
        if (low === high) continue
        if (high - low > limit - count) {
          hasMore = true
          if (order === 'asc') high = low + limit - count
          else low = high - limit + count
        }
        if (order === 'asc') texts.push(textOf({ block, low, high }))
        else for (let i = high; i > low; i--) texts.push(textOf({ block, low: i - 1, high: i }))
        count += high - low
        first ??= position(order === 'asc' ? low : high - 1)
        last = position(order === 'asc' ? high - 1 : low)
        if (hasMore) break
      }
      if (first === undefined || last === undefined) return undefined
      const lastTs = last.ts
      const [low, high] = !hasMore ? [from, to] : order === 'asc' ? [from, lastTs] : [lastTs, to]
      if (!isAlone(arm.feed, low, high)) return undefined
      const text = texts.join('')
      return {
        text: text.slice(0, text.length - PAGE_SEPARATOR.length),
        ...{ count, hasMore, last, firstTs: first.ts, lastTs },
      }
    },
    rows(arms, query, limit) {
      const { order, filters } = query
      if (filters?.open === true) return []
      const [from, to] = spanOf(query)
      return arms.flatMap((arm) => {
        const found: StoredRow[] = []
        const source = SOURCES[arm.rank] as Source
        for (const [block, index] of walk(arm.feed, from, to, order)) {
          const instrument = block.instrument(index)
          if (arm.instrument !== undefined && arm.instrument !== instrument) continue
          if (filters?.side !== undefined && filters.side !== block.side(index)) continue
          const usd = block.usd(index)
          if (filters?.minUsd !== undefined && !(usd !== null && usd >= filters.minUsd)) continue
          const position = { ts: block.ts[index] ?? 0, source, instrument, seq: block.seq(index) }
          if (!isAfter(position, query)) continue
          found.push({ feed: arm.feed, position, text: block.row(index) })
          if (found.length === limit) break
        }
        return found
      })
    },
    nearest(feed, order, from, to) {
      for (const each of places(feed, from, to, order)) {
        // Most often the end of a block, which need not be opened.
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
        // Of snapshots without instruments, which have one row at an instant.
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

/** What can be after the position, as [from, to). */
function spanOf({ range, order, position }: SeriesQuery): [number, number] {
  return order === 'asc'
    ? [Math.max(range.from, position?.ts ?? 0), endOf(range)]
    : [range.from, Math.min(endOf(range), (position?.ts ?? Number.MAX_SAFE_INTEGER - 1) + 1)]
}

/** Every row in its turn, as it lies in a block. */
function isOfNeighbours(arm: Arm, { filters, stepMs, separator, limit }: PageQuery): boolean {
  return (
    arm.instrument === undefined &&
    (filters?.side ?? filters?.minUsd ?? filters?.open) === undefined &&
    stepMs === undefined &&
    separator === PAGE_SEPARATOR &&
    limit > 0
  )
}

function textOf({ block: { text, starts }, low, high }: Run): string {
  return text.slice(starts[low], starts[high])
}

/** Of the first time at or after an instant. */
function indexOf(times: readonly number[], ts: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((times[middle] ?? 0) < ts) low = middle + 1
    else high = middle
  }
  return low
}
