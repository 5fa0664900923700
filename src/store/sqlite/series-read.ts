import type { DatabaseSync } from 'node:sqlite'
import type { Feed } from '../../core/feed.ts'
import { readTexts } from '../books/compose.ts'
import { type GroupReader, isGrouped } from '../books/group.ts'
import { bookSamples } from '../books/sample.ts'
import { type BookRef, bookRows } from '../books/walk.ts'
import { type Arm, armsOf, comparePositions, endOf } from '../order/arms.ts'
import { sampledRows } from '../order/sample.ts'
import { blockFormOf } from '../rows/block-form.ts'
import { finalBlocks } from '../rows/final-blocks.ts'
import { takeInTurns } from '../rows/take-in-turns.ts'
import type { AtQuery, BookRequest, Finality, FoundRow, Page, PageQuery, SeriesQuery } from '../series.ts'
import { groupReaders } from './books-groups.ts'
import { type OneState, oneStateOf } from './open.ts'
import { packedReader } from './packed-read.ts'
import type { FeedLookup } from './series-lookup.ts'
import { EMPTY_PAGE, joinedReader, pageReader, type StoredRow, statementCache } from './series-page.ts'
import { packedSamples, plainSamples } from './series-sample.ts'

/** Reads rows on the calling thread. */
export interface SeriesReader {
  readonly oneState: OneState
  page(query: PageQuery): Page | UnfinishedPage
  /** From blocks of final candles; undefined when the page is not made of them. See `FinalBlocks.page`. */
  finalPage(query: PageQuery, finality: readonly Finality[], missing: 'read' | 'give up'): Page | undefined
  count(query: SeriesQuery): number
  at(query: AtQuery): FoundRow | undefined
}

/** All of a page is read but for the texts of its rows: making them from books takes long. */
interface UnfinishedPage extends Omit<Page, 'text' | 'parts'> {
  finish(): Promise<Page>
}

export function seriesReader(parts: {
  database: DatabaseSync
  lookup: FeedLookup
  /** Memory for final candles, and as much again for books. */
  blockBytes: number
  holdMs: number
}): SeriesReader {
  const { database, lookup, blockBytes, holdMs } = parts
  const oneState = oneStateOf(database)
  const prepare = statementCache(database)
  const pages = pageReader(prepare, oneState)
  const packed = packedReader(database, blockBytes)
  const blocks = finalBlocks(joinedReader(prepare, packed), blockBytes)
  const samples = plainSamples(database, packed)
  const groups = groupReaders(database, blockBytes)
  const plainRows = (arms: readonly Arm[], query: SeriesQuery, limit: number): StoredRow[] => {
    if (arms.length === 0) return []
    const { stepMs } = query
    if (stepMs !== undefined) {
      const sampled = { ...query, stepMs }
      return packedSamples(packed, arms, sampled, limit) ?? sampledRows(samples(), arms, sampled, limit)
    }
    const rows = pages.rows(arms, query, limit)
    const inBlocks = packed.rows(arms, query, limit)
    if (inBlocks.length === 0) return rows
    if (rows.length > 0) return [...rows, ...inBlocks].sort(byFeed(arms)).sort(inOrder(query))
    return arms.length === 1 ? inBlocks : inBlocks.sort(inOrder(query))
  }

  /** Rows with their texts to come: plain ones and grouped ones, merged. */
  const rowsOf = (query: SeriesQuery, limit: number): RowsOfPage => {
    if (query.stepMs !== undefined && query.feeds.some((feed) => feed.dataset !== 'snapshots'))
      throw new RangeError('only snapshots are sampled')
    const armsFor = (feeds: readonly Feed[]) => armsOf({ ...query, feeds }, lookup.id)
    const plain = armsFor(query.feeds.filter((feed) => !isGrouped(feed)))
    const grouped = armsFor(query.feeds.filter(isGrouped))
    const reader = groups()
    if (limit < 1) return { rows: [], reader }
    const { stepMs } = query
    const refs =
      grouped.length === 0
        ? []
        : stepMs === undefined
          ? bookRows(reader, grouped, query, limit)
          : sampledRows(bookSamples(reader), grouped, { ...query, stepMs }, limit)
    const others = plainRows(plain, query, limit)
    if (others.length === 0) return { rows: refs, reader }
    const merged = refs.length === 0 ? others : [...refs, ...others].sort(inOrder(query))
    return { rows: merged.slice(0, limit), reader }
  }

  /** The texts of the rows, in their order: made one by one as they are taken. */
  const textsOf = (
    { rows, reader }: RowsOfPage,
    request: BookRequest | undefined,
    stepMs: number | undefined,
  ): Iterator<string> => {
    const textOf = readTexts(reader, rows.filter(isRef), request, stepMs)
    let refs = 0
    return rows.values().map((row) => (isRef(row) ? textOf(refs++) : row.text))
  }

  const composed = (query: PageQuery): UnfinishedPage => {
    const found = rowsOf(query, query.limit + 1)
    const rows = found.rows.slice(0, query.limit)
    const texts = textsOf({ ...found, rows }, query.books, query.stepMs)
    const head = {
      count: rows.length,
      hasMore: found.rows.length > query.limit,
      last: rows.at(-1)?.position,
      firstTs: rows[0]?.position.ts,
      lastTs: rows.at(-1)?.position.ts,
    }
    return {
      ...head,
      finish: async () => ({ ...head, text: (await takeInTurns(texts, holdMs)).join(query.separator) }),
    }
  }

  const isInBlocks = ({ feeds, range }: SeriesQuery) =>
    feeds.some((feed) => {
      if (blockFormOf(feed) === undefined) return false
      const id = lookup.id(feed)
      return id !== undefined && packed.has(id, range.from, endOf(range))
    })
  const isComposed = (query: SeriesQuery) =>
    query.stepMs !== undefined || query.feeds.some(isGrouped) || isInBlocks(query)

  const plain = (query: PageQuery): Page => {
    const arms = armsOf(query, lookup.id)
    return arms.length === 0 || query.limit < 1 ? EMPTY_PAGE : pages.text(arms, query)
  }

  /** The newest rows are in no block yet: most pages that begin with them end before the first block. */
  const newestPage = (query: PageQuery): Page | undefined => {
    const { order, position, range, feeds, limit } = query
    if (order === 'asc' || query.stepMs !== undefined || feeds.some(isGrouped)) return undefined
    const to = Math.min(endOf(range), (position?.ts ?? Number.MAX_SAFE_INTEGER - 1) + 1)
    const ends = armsOf(query, lookup.id).map((arm) => packed.endBefore(arm.feed, to) ?? -1)
    const from = Math.max(range.from, Math.max(...ends) + 1)
    if (from >= to) return undefined
    const page = plain({ ...query, range: { ...range, from } })
    return page.count === limit && page.hasMore ? page : undefined
  }

  /** A page inside of past days: without a grouped feed, its only one has blocks. */
  const packedPage = (query: PageQuery): Page | undefined =>
    query.feeds.some(isGrouped) ? undefined : packed.page(armsOf(query, lookup.id), query)

  const finalPage: SeriesReader['finalPage'] = (query, finality, missing) => {
    const final = finality.length === 1 ? finality[0] : undefined
    if (final === undefined) return undefined
    const id = lookup.id(final.feed)
    return id === undefined ? undefined : blocks.page(id, query, final, missing)
  }

  /** The newest row at or before a time; its text is made while the file is in the same state. */
  const rowAt = ({ feeds, time, notBefore, instrument, books: request }: AtQuery): FoundRow | undefined => {
    const range = { from: notBefore ?? 0, to: time, toInclusive: true }
    const filters = instrument === undefined ? {} : { instruments: [instrument] }
    const found = rowsOf({ feeds, range, order: 'desc', limit: 1, filters }, 1)
    const [row] = found.rows
    if (row === undefined) return undefined
    return { position: row.position, text: textsOf(found, request, undefined).next().value ?? '' }
  }

  return {
    oneState,
    page: (query) =>
      oneState(() =>
        isComposed(query) ? (newestPage(query) ?? packedPage(query) ?? composed(query)) : plain(query),
      ),
    finalPage,
    count: (query) =>
      oneState(() => {
        if (isComposed(query)) return rowsOf(query, query.limit).rows.length
        const arms = armsOf(query, lookup.id)
        return arms.length === 0 || query.limit < 1 ? 0 : pages.count(arms, query)
      }),
    at: (query) => oneState(() => rowAt(query)),
  }
}

function inOrder({ order }: SeriesQuery): (a: StoredRow | BookRef, b: StoredRow | BookRef) => number {
  const sign = order === 'asc' ? 1 : -1
  return (a, b) => comparePositions(a.position, b.position) * sign
}

/** Rows of the same place in the order of pages stay in the order of their feeds, wherever they lie. */
function byFeed(arms: readonly Arm[]): (a: StoredRow, b: StoredRow) => number {
  const order = new Map(arms.map(({ feed }, index) => [feed, index]))
  return (a, b) => (order.get(a.feed) ?? 0) - (order.get(b.feed) ?? 0)
}

interface RowsOfPage {
  rows: readonly (StoredRow | BookRef)[]
  reader: GroupReader
}

function isRef(row: StoredRow | BookRef): row is BookRef {
  return 'view' in row
}
