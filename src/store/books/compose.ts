import { type MicroSide, NO_SIDE } from '../../core/micro-book.ts'
import { BOOK_FIELDS } from '../../core/rows/snapshot.ts'
import type { Source } from '../../core/source.ts'
import { stepEnd } from '../order/sample.ts'
import type { RestingWork } from '../rows/work-in-turns.ts'
import type { BookRequest } from '../series.ts'
import { allSides, type BookRow, imbalanceOf, levelsOf, levelText } from './book-row.ts'
import { type GroupReader, type GroupView, lastBefore, lowerBound } from './group.ts'
import type { BookRef } from './walk.ts'

const IMBALANCE = /"imbalance":[^,}]+/

type Place = Pick<BookRef, 'view' | 'index'>

/**
 * Loads everything that the texts of the rows are made of, from one state of the file, and rests after each group. The
 * returned function builds a text when it is asked for, with books and diffs if requested, even if the file has changed
 * by then.
 */
export function* readTexts(
  groups: GroupReader,
  refs: readonly BookRef[],
  request: BookRequest | undefined,
  stepMs: number | undefined,
): RestingWork<(at: number) => string> {
  const before = request?.diffs ? yield* rowsBefore(groups, refs, stepMs) : []
  const rowAt = yield* loadAll([...refs, ...before.filter((place) => place !== undefined)])
  return (at) => {
    const ref = refs[at]
    if (ref === undefined) throw new RangeError(`no row ${at}`)
    const row = rowAt(ref)
    if (request === undefined || BOOK_FIELDS[ref.position.source] === undefined) return row.text
    let text = row.text
    if (request.books) text = textWithBooks(text, ref.position.source, row, request.depth)
    if (request.diffs) {
      const place = before[at]
      const old = place === undefined ? undefined : rowAt(place)
      text = `${text.slice(0, -1)},"diffs":${old === undefined ? 'null' : diffText(old, row, request.depth)}}`
    }
    return text
  }
}

/** The row's text with both books, and the imbalance of the listed levels. */
export function textWithBooks(
  text: string,
  source: Source,
  row: Pick<BookRow, 'sides'>,
  depth?: number,
): string {
  const fields = BOOK_FIELDS[source]
  if (fields === undefined) return text
  const [bids, asks, otherBids, otherAsks] = allSides(row).map((side) => levelsOf(side, depth).join())
  // The light row's imbalance is computed for a row without books, so it is replaced.
  const light = text.replace(IMBALANCE, `"imbalance":${imbalanceOf(row, depth)}`)
  return `${light.slice(0, -1)},"${fields[0]}":{"bids":[${bids}],"asks":[${asks}]},"${fields[1]}":{"bids":[${otherBids}],"asks":[${otherAsks}]}}`
}

/**
 * The difference between the first books of two rows as sets of levels: a level whose size changed is removed with its
 * old size and added with its new one. Removing and then adding turns the old book into the new one.
 */
function diffText(old: BookRow, row: BookRow, depth?: number): string {
  const [bids, asks] = [0, 1].map((side) =>
    diffOf(old.sides[side] ?? NO_SIDE, row.sides[side] ?? NO_SIDE, side === 0 ? -1 : 1, depth),
  )
  return `{"bids_added":[${bids?.added}],"bids_removed":[${bids?.removed}],"asks_added":[${asks?.added}],"asks_removed":[${asks?.removed}]}`
}

/** Both sides are sorted, so one pass over the two finds every level that only one of them has. */
function diffOf(
  before: MicroSide,
  after: MicroSide,
  sign: 1 | -1,
  depth = Number.POSITIVE_INFINITY,
): { added: string[]; removed: string[] } {
  const added: string[] = []
  const removed: string[] = []
  const counts = [before, after].map(({ prices }) => Math.min(depth, prices.length))
  const [olds = 0, news = 0] = counts
  let [i, j] = [0, 0]
  while (i < olds || j < news) {
    const old = i < olds ? sign * (before.prices[i] ?? 0) : Number.POSITIVE_INFINITY
    const now = j < news ? sign * (after.prices[j] ?? 0) : Number.POSITIVE_INFINITY
    const isSame = old === now && before.sizes[i] === after.sizes[j]
    if (old <= now) {
      if (!isSame) removed.push(levelText(before.prices[i] ?? 0, before.sizes[i] ?? 0))
      i++
    }
    if (now <= old) {
      if (!isSame) added.push(levelText(after.prices[j] ?? 0, after.sizes[j] ?? 0))
      j++
    }
  }
  return { added, removed }
}

/** For each row, the previous row of the same series: on the page, or the last one before it. */
function* rowsBefore(
  groups: GroupReader,
  refs: readonly BookRef[],
  stepMs: number | undefined,
): RestingWork<(Place | undefined)[]> {
  const ascending = (refs[0]?.position.ts ?? 0) <= (refs.at(-1)?.position.ts ?? 0)
  const places = new Array<Place | undefined>(refs.length)
  const last = new Map<string, BookRef>()
  for (let i = 0; i < refs.length; i++) {
    const at = ascending ? i : refs.length - 1 - i
    const ref = refs[at]
    if (ref === undefined) continue
    const { ts, seq, instrument } = ref.position
    const key = `${ref.feed}/${instrument}`
    const border = stepMs === undefined ? ts : stepEnd(ts, stepMs) - stepMs
    const edge =
      stepMs === undefined ? { ts: border, seq: seq - 1 } : { ts: border, seq: Number.MAX_SAFE_INTEGER }
    places[at] = last.get(key) ?? lastBefore(groups, ref.feed, instrument, edge, 0)
    last.set(key, ref)
    yield
  }
  return places
}

/** Rows of a group that are read together, because a walk over its books can begin at every hundredth row. */
const ROWS_AT_ONCE = 100

/** Loads what the rows are read from. A row is read, with its neighbours, when the first of them is asked for. */
function* loadAll(places: readonly Place[]): RestingWork<(place: Place) => BookRow> {
  const wanted = new Map<GroupView, Set<number>>()
  for (const { view, index } of places) {
    const indexes = wanted.get(view)
    if (indexes === undefined) wanted.set(view, new Set([index]))
    else indexes.add(index)
  }
  const loaded = new Map<GroupView, { indexes: readonly number[]; rows: Map<number, BookRow> }>()
  for (const [view, own] of wanted) {
    const indexes = [...own].sort((a, b) => a - b)
    view.load(indexes)
    loaded.set(view, { indexes, rows: new Map() })
    yield
  }
  return ({ view, index }) => {
    const { indexes, rows } = loaded.get(view) ?? { indexes: [], rows: new Map<number, BookRow>() }
    if (!rows.has(index)) {
      const first = Math.floor(lowerBound(indexes, index) / ROWS_AT_ONCE) * ROWS_AT_ONCE
      const near = indexes.slice(first, first + ROWS_AT_ONCE)
      for (const [at, row] of view.rows(near).entries()) rows.set(near[at] ?? 0, row)
    }
    const row = rows.get(index)
    if (row === undefined) throw new Error(`the books of ${view.instrument} at ${view.ts[index]} are missing`)
    return row
  }
}
