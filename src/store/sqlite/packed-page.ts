/**
 * Pages whose rows all come from blocks, one after another: no filter, no sampling. The text of rows that lie beside
 * each other in a block is one slice of it, and nothing is made per row but the comparison of times.
 */
import { SOURCES, type Source } from '../../core/source.ts'
import { type Arm, comparePositions, isAfter } from '../order/arms.ts'
import { type OpenBlock, PAGE_SEPARATOR } from '../rows/row-block.ts'
import type { RestingWork } from '../rows/work-in-turns.ts'
import type { Page, PageQuery, Position } from '../series.ts'
import { type Place, type Run, spanAfter, textOf } from './packed-run.ts'

interface Blocks {
  /** The blocks that have rows in [from, to). */
  places(feed: number, from: number, to: number, order: 'asc' | 'desc'): Iterator<Place, void>
  runOf(place: Place, from: number, to: number): Run
  /** Whether no row of the feed in [from, to) lies outside blocks. */
  isAlone(feed: number, from: number, to: number): boolean
}

/** The rows of an arm that the page has not taken yet. */
interface Head {
  readonly arm: Arm
  readonly source: Source
  readonly places: Iterator<Place, void>
  block: OpenBlock
  /** The rows in [low, high) of the block are left. */
  low: number
  high: number
}

/** Undefined if the page needs anything else than rows in blocks. Rests after each block. */
export function* neighbouringRows(
  arms: readonly Arm[],
  query: PageQuery,
  blocks: Blocks,
): RestingWork<Page | undefined> {
  const { order, limit } = query
  if (arms.length === 0 || !arms.every((arm) => isOfNeighbours(arm, query))) return undefined
  const [from, to] = spanAfter(query)
  const heads: Head[] = []
  for (const arm of arms) {
    const places = blocks.places(arm.feed, from, to, order)
    const head = { arm, source: SOURCES[arm.rank] as Source, places, block: NO_ROWS, low: 0, high: 0 }
    if (yield* goToNextBlock(head)) heads.push(head)
  }
  if (heads.length === 0) return undefined

  const texts: string[] = []
  let count = 0
  let [first, last]: (Position | undefined)[] = []
  let hasMore = false
  while (heads.length > 0 && !hasMore) {
    const head = firstOf(heads, order)
    const rows = Math.min(leadOf(head, heads, order), limit - count)
    const { block, low, high } = head
    const ends = order === 'asc' ? [low, low + rows - 1] : [high - 1, high - rows]
    first ??= positionOf(head, ends[0] ?? 0)
    if (order === 'asc') texts.push(textOf({ block, low, high: low + rows }))
    else for (let i = high; i > high - rows; i--) texts.push(textOf({ block, low: i - 1, high: i }))
    count += rows
    if (order === 'asc') head.low += rows
    else head.high -= rows
    if (count === limit) {
      last = positionOf(head, ends[1] ?? 0)
      hasMore = heads.some((each) => each.low < each.high || each.places.next().done !== true)
      break
    }
    if (head.low === head.high) {
      last = positionOf(head, ends[1] ?? 0)
      if (!(yield* goToNextBlock(head))) heads.splice(heads.indexOf(head), 1)
    }
  }
  if (first === undefined || last === undefined) return undefined
  const lastTs = last.ts
  const [low, high] = !hasMore ? [from, to] : order === 'asc' ? [from, lastTs + 1] : [lastTs, to]
  if (!arms.every(({ feed }) => blocks.isAlone(feed, low, high))) return undefined
  const text = texts.join('')
  return {
    text: text.slice(0, text.length - PAGE_SEPARATOR.length),
    ...{ count, hasMore, last, firstTs: first.ts, lastTs },
  }

  /** False if the arm has no rows after those of its block. */
  function* goToNextBlock(head: Head): RestingWork<boolean> {
    do {
      const next = head.places.next()
      if (next.done) return false
      Object.assign(head, blocks.runOf(next.value, from, to))
      yield
      if (order === 'asc')
        while (head.low < head.high && !isAfter(positionOf(head, head.low), query)) head.low++
      else while (head.low < head.high && !isAfter(positionOf(head, head.high - 1), query)) head.high--
    } while (head.low === head.high)
    return true
  }
}

const NO_ROWS = { ts: new Float64Array() } as OpenBlock

/** Whether the page takes every row in order, as rows lie in a block. */
function isOfNeighbours(arm: Arm, { filters, stepMs, separator, limit }: PageQuery): boolean {
  return (
    arm.instrument === undefined &&
    (filters?.side ?? filters?.minUsd ?? filters?.open) === undefined &&
    stepMs === undefined &&
    separator === PAGE_SEPARATOR &&
    limit > 0
  )
}

function positionOf({ block, source }: Head, index: number): Position {
  return { ts: block.ts[index] ?? 0, source, instrument: block.instrument(index), seq: block.seq(index) }
}

const nextIndex = ({ low, high }: Head, order: 'asc' | 'desc') => (order === 'asc' ? low : high - 1)

/** The head whose next row comes first. */
function firstOf(heads: readonly Head[], order: 'asc' | 'desc'): Head {
  let best = heads[0] as Head
  for (const head of heads.slice(1)) {
    const [index, bestIndex] = [nextIndex(head, order), nextIndex(best, order)]
    const difference =
      (head.block.ts[index] ?? 0) - (best.block.ts[bestIndex] ?? 0) ||
      comparePositions(positionOf(head, index), positionOf(best, bestIndex))
    if (order === 'asc' ? difference < 0 : difference > 0) best = head
  }
  return best
}

/** How many rows of the block come before the next row of every other head; at least one. */
function leadOf(head: Head, heads: readonly Head[], order: 'asc' | 'desc'): number {
  const { block, low, high } = head
  let end = order === 'asc' ? high : low - 1
  const step = order === 'asc' ? 1 : -1
  for (const other of heads) {
    if (other === head) continue
    const until = other.block.ts[nextIndex(other, order)] ?? 0
    let index = nextIndex(head, order) + step
    while (index !== end && (block.ts[index] ?? 0) * step < until * step) index += step
    end = index
  }
  return Math.abs(end - nextIndex(head, order))
}
