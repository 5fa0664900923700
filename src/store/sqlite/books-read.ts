import { type BookSides, bookText, diffText } from '../../core/rows/book.ts'
import { BOOK_FIELDS } from '../../core/rows/snapshot.ts'
import type { Source } from '../../core/source.ts'
import type { BookRequest } from '../series.ts'
import { type GroupReader, type GroupView, lastBefore } from './books-groups.ts'
import { allSides, type BookRow, levelsOf, NO_SIDE } from './books-row.ts'
import type { BookRef } from './books-rows.ts'
import { stepEnd } from './series-sample.ts'

type Place = Pick<BookRef, 'view' | 'index'>

/** The rows' texts, with books and diffs composed into them where asked, in the same order. */
export function bookTexts(
  groups: GroupReader,
  refs: readonly BookRef[],
  request: BookRequest | undefined,
  stepMs: number | undefined,
): string[] {
  const before = request?.diffs ? rowsBefore(groups, refs, stepMs) : []
  const rowAt = readAll([...refs, ...before.filter((place) => place !== undefined)])
  return refs.map((ref, at) => {
    const row = rowAt(ref)
    const fields = BOOK_FIELDS[ref.position.source]
    if (request === undefined || fields === undefined) return row.text
    let text = row.text
    if (request.books) text = textWithBooks(text, ref.position.source, row, request.depth)
    if (request.diffs) {
      const place = before[at]
      const old = place === undefined ? undefined : rowAt(place)
      const diffs = old ? diffText(bookOf(old, 0, request.depth), bookOf(row, 0, request.depth)) : 'null'
      text = `${text.slice(0, -1)},"diffs":${diffs}}`
    }
    return text
  })
}

/** The row's text with both of its books. */
export function textWithBooks(
  text: string,
  source: Source,
  row: Pick<BookRow, 'sides'>,
  depth?: number,
): string {
  const fields = BOOK_FIELDS[source]
  if (fields === undefined) return text
  const [first, second] = [bookOf(row, 0, depth), bookOf(row, 2, depth)]
  return `${text.slice(0, -1)},"${fields[0]}":${bookText(first)},"${fields[1]}":${bookText(second)}}`
}

/** Per row the one before it in the same series: the page's own, or the last one in front of the page. */
function rowsBefore(
  groups: GroupReader,
  refs: readonly BookRef[],
  stepMs: number | undefined,
): (Place | undefined)[] {
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
  }
  return places
}

/** Reads all rows of a page at once: each group is replayed a single time. */
function readAll(places: readonly Place[]): (place: Place) => BookRow {
  const wanted = new Map<GroupView, Set<number>>()
  for (const { view, index } of places) {
    const indexes = wanted.get(view)
    if (indexes === undefined) wanted.set(view, new Set([index]))
    else indexes.add(index)
  }
  const rows = new Map<GroupView, Map<number, BookRow>>()
  for (const [view, indexes] of wanted) {
    const sorted = [...indexes].sort((a, b) => a - b)
    const read = view.rows(sorted)
    rows.set(view, new Map(sorted.map((index, i) => [index, read[i] as BookRow])))
  }
  return ({ view, index }) => {
    const row = rows.get(view)?.get(index)
    if (row === undefined) throw new Error(`the books of ${view.instrument} at ${view.ts[index]} are missing`)
    return row
  }
}

function bookOf(row: Pick<BookRow, 'sides'>, first: 0 | 2, depth: number | undefined): BookSides {
  const sides = first === 0 ? row.sides : allSides(row)
  const side = (at: number) => levelsOf(sides[at] ?? NO_SIDE, depth)
  return { bids: side(first), asks: side(first + 1) }
}
