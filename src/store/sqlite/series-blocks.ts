import { type Feed, hasOneRowPerInstant } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import { Lru } from '../../kit/lru.ts'
import type { Page, PageQuery } from '../series.ts'
import { endOf } from './series-arms.ts'
import type { Statements } from './series-statements.ts'

/**
 * Final bars in memory, in blocks of neighbouring bars: a page over them is a few slices of bytes and no work
 * per row. A block is good as long as the feed's epoch stands; bars that can still change are never in one.
 *
 *   bars     │ 0 │ 1 │ 2 │ 3 │ …        (bar 2 has no row)
 *   bytes    row0,⏎ row1,⏎ row3,⏎ …
 *   starts   0      a      b  b …       where the row of a bar begins, or the next row where it has none
 */
export interface SeriesBlocks {
  /** Undefined when the page has to be read from the tree. */
  page(feedId: number, feed: Feed, query: PageQuery): Page | undefined
}

interface Block {
  epoch: number
  bytes: Buffer
  starts: Uint32Array
  /** Rows before each bar. */
  rows: Uint32Array
}

const BARS = 128
const MAX_BYTES = 64 * 1024 * 1024
/** A page over long gaps would load block after block for nothing. */
const MAX_BLOCKS_READ = 128
const LINE_BREAK = 10

export function seriesBlocks(statements: Statements): SeriesBlocks {
  const known = new Lru<string, Block>({
    maxEntries: MAX_BYTES / 1024,
    maxWeight: MAX_BYTES,
    weigh: (block) => block.bytes.length + block.starts.byteLength + block.rows.byteLength,
  })

  const load = (place: Place, index: number, epoch: number): Block | undefined => {
    const name = `${place.feedId} ${index} ${place.separator}`
    const hit = known.get(name)
    if (hit?.epoch === epoch) return hit
    const block = readBlock(statements, place, index, epoch)
    if (block !== undefined) known.set(name, block)
    return block
  }

  return {
    page(feedId, feed, query) {
      const { final, limit, range, position, separator } = query
      if (final === undefined || feed.interval === '' || !isPlain(query) || !hasOneRowPerInstant(feed)) {
        return undefined
      }
      const step = INTERVAL_MS[feed.interval]
      const place = { feedId, step, separator }
      const first = position === undefined ? range.from : Math.max(range.from, position.ts + 1)
      const endBar = Math.ceil(endOf(range) / step)
      let bar = Math.ceil(first / step)
      const firstIndex = Math.floor(bar / BARS)
      const parts: Buffer[] = []
      let count = 0
      let firstBar = -1
      let lastBar = -1
      for (let index = firstIndex; bar < endBar; index++) {
        const start = index * BARS
        const isFinal = (start + BARS) * step <= final.before
        if (!isFinal || index - firstIndex >= MAX_BLOCKS_READ) return undefined
        const block = load(place, index, final.epoch)
        if (block === undefined) return undefined
        const from = bar - start
        const to = Math.min(BARS, endBar - start)
        const found = at(block.rows, to) - at(block.rows, from)
        if (found > 0 && count === limit) return pageOf(parts, count, true)
        const taken = Math.min(found, limit - count)
        if (taken > 0) {
          const until = taken === found ? to : barOfRow(block, at(block.rows, from) + taken)
          parts.push(block.bytes.subarray(at(block.starts, from), at(block.starts, until)))
          count += taken
          if (firstBar === -1) firstBar = start + barOfRow(block, at(block.rows, from))
          lastBar = start + barOfRow(block, at(block.rows, from) + taken - 1)
          if (taken < found) return pageOf(parts, count, true)
        }
        bar = start + BARS
      }
      return pageOf(parts, count, false)

      function pageOf(slices: Buffer[], rows: number, hasMore: boolean): Page {
        const last = slices.pop()
        if (last !== undefined) slices.push(last.subarray(0, last.length - separator.length))
        const ts = lastBar * step
        return {
          get text() {
            return slices.join('')
          },
          parts: slices,
          count: rows,
          hasMore,
          last: rows === 0 ? undefined : { ts, source: feed.source, instrument: '', seq: 0 },
          firstTs: rows === 0 ? undefined : firstBar * step,
          lastTs: rows === 0 ? undefined : ts,
        }
      }
    },
  }
}

/** Newest first would need the rows in the other order; filters would need every row. */
function isPlain({ order, limit, filters, stepMs, books, separator }: PageQuery): boolean {
  const filtered = filters?.instruments ?? filters?.side ?? filters?.minUsd ?? filters?.open
  return (
    order === 'asc' &&
    limit > 0 &&
    filtered === undefined &&
    stepMs === undefined &&
    books === undefined &&
    separator.endsWith('\n')
  )
}

interface Place {
  feedId: number
  step: number
  separator: string
}

function readBlock(
  statements: Statements,
  { feedId, step, separator }: Place,
  index: number,
  epoch: number,
): Block | undefined {
  const from = index * BARS * step
  const to = from + BARS * step
  const rows = 'FROM series_rows WHERE feed = ? AND ts >= ? AND ts < ? ORDER BY ts'
  const quoted = `'${separator.replaceAll("'", "''")}'`
  const joined = `SELECT CAST(group_concat(text, ${quoted}) || ${quoted} AS BLOB), group_concat(ts, ' ')
    FROM (SELECT ts, text ${rows} LIMIT ${BARS + 1})`
  const [blob, times] = statements.prepare(joined).get(feedId, from, to) as unknown as [
    Uint8Array | null,
    string | null,
  ]
  const starts = new Uint32Array(BARS + 1)
  const before = new Uint32Array(BARS + 1)
  if (blob === null || times === null) return { epoch, bytes: Buffer.alloc(0), starts, rows: before }
  const bytes = Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength)
  let bar = 0
  let offset = 0
  let count = 0
  for (const text of times.split(' ')) {
    const own = (Number(text) - from) / step
    // Bars that begin off the grid of the epoch, or twice in one bar, have no place here.
    if (!Number.isInteger(own) || own < bar) return undefined
    for (; bar <= own; bar++) {
      starts[bar] = offset
      before[bar] = count
    }
    offset = bytes.indexOf(LINE_BREAK, offset) + 1
    count++
  }
  for (; bar <= BARS; bar++) {
    starts[bar] = offset
    before[bar] = count
  }
  return { epoch, bytes, starts, rows: before }
}

/** The bar that holds the n-th row of its block. */
function barOfRow({ rows }: Block, n: number): number {
  if (at(rows, BARS) === BARS) return n
  let low = 0
  let high = BARS
  while (low < high) {
    const middle = (low + high) >>> 1
    if (at(rows, middle + 1) > n) high = middle
    else low = middle + 1
  }
  return low
}

function at(values: Uint32Array, index: number): number {
  return values[index] ?? 0
}
