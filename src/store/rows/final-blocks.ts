import { hasOneRowPerInstant } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import { endOf } from '../order/arms.ts'
import type { Finality, Page, PageQuery } from '../series.ts'
import { CANDLES_OF_BLOCK } from './block-form.ts'

/**
 * Final candles in memory, in blocks of neighbours, so that a page over them is a few slices of bytes without work per
 * row. A block is valid while the feed's epoch is the same; candles that can still change are never in one.
 *
 *   candles     │ 0 │ 1 │ 2 │ 3 │ …        (candle 2 has no row)
 *   bytes    row0,⏎ row1,⏎ row3,⏎ …
 *   starts   0      a      b  b …       where the row of a candle begins, or the next row if it has none
 */
export interface FinalBlocks {
  /**
   * Undefined when the page has to be read from the tree. Missing blocks may be read only if `final` belongs to the
   * snapshot that is being read, because a block is stored under the epoch it was read in; otherwise only blocks in
   * memory count.
   */
  page(feedId: number, query: PageQuery, final: Finality, missing: 'read' | 'give up'): Page | undefined
}

interface Block {
  epoch: number
  bytes: Buffer
  starts: Uint32Array
  /** The number of rows before each candle. */
  rows: Uint32Array
}

const CANDLES = CANDLES_OF_BLOCK
/** Without this limit, a page over long gaps would load one empty block after another. */
const MAX_BLOCKS_READ = 128
/** Unpacking takes most of the time, so a page that needs more of it is read in turns; the next one finds it in memory. */
const MAX_UNPACKED_AT_ONCE = 8
const LINE_BREAK = 10

/** The rows of a feed in [from, to), each followed by the separator, and their times. */
interface JoinedRows {
  bytes: Buffer
  times: number[]
  /** Whether they had to be unpacked. */
  wasUnpacked: boolean
}

/** Undefined when there is no row; at most `limit` rows. */
export type ReadJoined = (
  feedId: number,
  from: number,
  to: number,
  separator: string,
  limit: number,
) => JoinedRows | undefined

interface KnownBlocks {
  get(key: string): Block | undefined
  set(key: string, block: Block): void
}

/** The memory that a block takes. */
export function weightOfBlock({ bytes, starts, rows }: Block): number {
  return bytes.length + starts.byteLength + rows.byteLength
}

export function finalBlocks(readJoined: ReadJoined, known: KnownBlocks): FinalBlocks {
  let unpacked = 0
  const load = (place: Place, index: number, epoch: number, mayRead: boolean): Block | undefined => {
    const name = `${place.feedId} ${index} ${place.separator}`
    const hit = known.get(name)
    if (hit?.epoch === epoch) return hit
    if (!mayRead) return undefined
    const from = index * CANDLES * place.step
    const read = readJoined(place.feedId, from, from + CANDLES * place.step, place.separator, CANDLES + 1)
    if (read?.wasUnpacked === true) unpacked++
    const block = blockOf(place, index, epoch, read)
    if (block !== undefined) known.set(name, block)
    return block
  }

  return {
    page(feedId, query, final, missing) {
      const { feed } = final
      const { limit, range, position, separator } = query
      if (feed.interval === '' || !isPlain(query) || !hasOneRowPerInstant(feed)) return undefined
      const step = INTERVAL_MS[feed.interval]
      const place = { feedId, step, separator }
      const first = position === undefined ? range.from : Math.max(range.from, position.ts + 1)
      const endCandle = Math.ceil(endOf(range) / step)
      let candle = Math.ceil(first / step)
      unpacked = 0
      const firstIndex = Math.floor(candle / CANDLES)
      const parts: Buffer[] = []
      let count = 0
      let firstCandle = -1
      let lastCandle = -1
      for (let index = firstIndex; candle < endCandle; index++) {
        const start = index * CANDLES
        const isFinal = (start + CANDLES) * step <= final.before
        if (!isFinal || index - firstIndex >= MAX_BLOCKS_READ || unpacked >= MAX_UNPACKED_AT_ONCE)
          return undefined
        const block = load(place, index, final.epoch, missing === 'read')
        if (block === undefined) return undefined
        const from = candle - start
        const to = Math.min(CANDLES, endCandle - start)
        const found = at(block.rows, to) - at(block.rows, from)
        if (found > 0 && count === limit) return pageOf(parts, count, true)
        const taken = Math.min(found, limit - count)
        if (taken > 0) {
          const until = taken === found ? to : candleOfRow(block, at(block.rows, from) + taken)
          parts.push(block.bytes.subarray(at(block.starts, from), at(block.starts, until)))
          count += taken
          if (firstCandle === -1) firstCandle = start + candleOfRow(block, at(block.rows, from))
          lastCandle = start + candleOfRow(block, at(block.rows, from) + taken - 1)
          if (taken < found) return pageOf(parts, count, true)
        }
        candle = start + CANDLES
      }
      return pageOf(parts, count, false)

      function pageOf(slices: Buffer[], rows: number, hasMore: boolean): Page {
        const last = slices.pop()
        if (last !== undefined) slices.push(last.subarray(0, last.length - separator.length))
        const ts = lastCandle * step
        return {
          get text() {
            return slices.join('')
          },
          parts: slices,
          count: rows,
          hasMore,
          last: rows === 0 ? undefined : { ts, source: feed.source, instrument: '', seq: 0 },
          firstTs: rows === 0 ? undefined : firstCandle * step,
          lastTs: rows === 0 ? undefined : ts,
        }
      }
    },
  }
}

/** Descending pages would need the rows in the opposite order, and filters would have to check every row. */
function isPlain({ feeds, order, limit, filters, stepMs, books, separator }: PageQuery): boolean {
  const filtered = filters?.instruments ?? filters?.side ?? filters?.minUsd ?? filters?.open
  return (
    feeds.length === 1 &&
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

function blockOf(
  { step }: Place,
  index: number,
  epoch: number,
  read: JoinedRows | undefined,
): Block | undefined {
  const starts = new Uint32Array(CANDLES + 1)
  const before = new Uint32Array(CANDLES + 1)
  if (read === undefined) return { epoch, bytes: Buffer.alloc(0), starts, rows: before }
  const { bytes, times } = read
  const from = index * CANDLES * step
  let candle = 0
  let offset = 0
  let count = 0
  for (const ts of times) {
    const own = (ts - from) / step
    // Candles off the grid, and two candles with the same time, cannot be stored here.
    if (!Number.isInteger(own) || own < candle) return undefined
    for (; candle <= own; candle++) {
      starts[candle] = offset
      before[candle] = count
    }
    offset = bytes.indexOf(LINE_BREAK, offset) + 1
    count++
  }
  for (; candle <= CANDLES; candle++) {
    starts[candle] = offset
    before[candle] = count
  }
  return { epoch, bytes, starts, rows: before }
}

/** The candle of the n-th row of a block. */
function candleOfRow({ rows }: Block, n: number): number {
  if (at(rows, CANDLES) === CANDLES) return n
  let low = 0
  let high = CANDLES
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
