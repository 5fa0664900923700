import type { DatabaseSync } from 'node:sqlite'
import type { Feed } from '../../core/feed.ts'
import { readTexts } from '../books/compose.ts'
import { type GroupReader, isGrouped } from '../books/group.ts'
import { bookSamples } from '../books/sample.ts'
import { type BookRef, bookRows } from '../books/walk.ts'
import { type Arm, armsOf, comparePositions, endOf } from '../order/arms.ts'
import { type Batches, mergedBatches } from '../order/merge-batches.ts'
import { sampledRows } from '../order/sample.ts'
import { blockFormOf } from '../rows/block-form.ts'
import { finalBlocks, weightOfBlock } from '../rows/final-blocks.ts'
import { takeInTurns } from '../rows/take-in-turns.ts'
import { type RestingWork, workAtOnce, workForOneTurn, workInTurns } from '../rows/work-in-turns.ts'
import type { AtQuery, BookRequest, Finality, FoundRow, Page, PageQuery, SeriesQuery } from '../series.ts'
import type { BlockCache } from './block-cache.ts'
import { groupReaders } from './books-groups.ts'
import { type OneState, oneStateOf } from './open.ts'
import { packedReader } from './packed-read.ts'
import type { FeedLookup } from './series-lookup.ts'
import { EMPTY_PAGE, joinedReader, pageReader, type StoredRow, statementCache } from './series-page.ts'
import { packedSamples, plainSamples } from './series-sample.ts'

/** Reads rows on the calling thread. */
export interface SeriesReader {
  readonly oneState: OneState
  /** Undefined when it takes longer than one turn; the page is then read in turns. */
  page(query: PageQuery): Page | UnfinishedPage | undefined
  /** Built from blocks of final candles; undefined if the page cannot be built from them. See `FinalBlocks.page`. */
  finalPage(query: PageQuery, finality: readonly Finality[], missing: 'read' | 'give up'): Page | undefined
  /** Undefined when it takes longer than one turn, like `page`. */
  count(query: SeriesQuery): number | undefined
  /** For pages of samples, of very many groups and of many blocks, inside a transaction that the caller holds. */
  pageInTurns(query: PageQuery): Promise<Page | UnfinishedPage>
  countInTurns(query: SeriesQuery): Promise<number>
  at(query: AtQuery): FoundRow | undefined
}

/** A page that is read except for the texts of its rows, because building them from books takes long. */
interface UnfinishedPage extends Omit<Page, 'text' | 'parts'> {
  finish(): Promise<Page>
}

export function seriesReader(parts: {
  database: DatabaseSync
  lookup: FeedLookup
  cache: BlockCache
  holdMs: number
  /**
   * How long a page may take if it is read at once. A page that is read in turns takes as long in each turn, while
   * others wait.
   */
  turnMs: number
}): SeriesReader {
  const { database, lookup, cache, holdMs, turnMs } = parts
  const longTurnMs = Math.max(holdMs, turnMs)
  const oneState = oneStateOf(database)
  const prepare = statementCache(database)
  const pages = pageReader(prepare, oneState)
  const packed = packedReader(database, cache)
  const blocks = finalBlocks(joinedReader(prepare, packed), cache.part('final', weightOfBlock))
  const samples = plainSamples(database, packed)
  const groups = groupReaders(database, cache)
  function* plainSampled(
    arms: readonly Arm[],
    query: SeriesQuery & { stepMs: number },
    limit: number,
  ): RestingWork<StoredRow[]> {
    if (arms.length === 0) return []
    const inBlocks = yield* packedSamples(packed, arms, query, limit)
    return inBlocks ?? (yield* sampledRows(samples(), arms, query, limit))
  }
  /** The rows of each arm outside blocks and in them. */
  const plainLists = (arms: readonly Arm[], query: SeriesQuery, limit: number): Batches<StoredRow>[] =>
    arms.flatMap((arm) => [pages.batches(arm, query, limit), packed.batches(arm, query, limit)])

  /** Rows whose texts are not built yet: plain and grouped ones, merged. */
  function* rowsOf(query: SeriesQuery, limit: number): RestingWork<RowsOfPage> {
    if (query.stepMs !== undefined && query.feeds.some((feed) => feed.dataset !== 'snapshots'))
      throw new RangeError('only snapshots are sampled')
    const armsFor = (feeds: readonly Feed[]) => armsOf({ ...query, feeds }, lookup.id)
    const plain = armsFor(query.feeds.filter((feed) => !isGrouped(feed)))
    const grouped = armsFor(query.feeds.filter(isGrouped))
    const reader = groups.current()
    if (limit < 1) return { rows: [], reader }
    const { stepMs } = query
    const sampled = stepMs === undefined ? undefined : { ...query, stepMs }
    const refs =
      grouped.length === 0
        ? []
        : sampled === undefined
          ? yield* bookRows(reader, grouped, query, limit)
          : yield* sampledRows(bookSamples(reader), grouped, sampled, limit)
    if (plain.length === 0) return { rows: refs, reader }
    if (sampled === undefined) {
      const lists: Batches<StoredRow | BookRef>[] = [[refs].values(), ...plainLists(plain, query, limit)]
      return { rows: yield* mergedBatches(lists, query.order, limit), reader }
    }
    const others = yield* plainSampled(plain, sampled, limit)
    if (others.length === 0) return { rows: refs, reader }
    const merged = refs.length === 0 ? others : [...refs, ...others].sort(inOrder(query))
    return { rows: merged.slice(0, limit), reader }
  }

  /** The texts of the rows in their order, built one by one as they are taken. */
  function* textsOf(
    { rows, reader }: RowsOfPage,
    request: BookRequest | undefined,
    stepMs: number | undefined,
  ): RestingWork<Iterator<string>> {
    const textOf = yield* readTexts(reader, rows.filter(isRef), request, stepMs)
    let refs = 0
    return rows.values().map((row) => (isRef(row) ? textOf(refs++) : row.text))
  }

  function* composed(query: PageQuery): RestingWork<UnfinishedPage> {
    const found = yield* rowsOf(query, query.limit + 1)
    const rows = found.rows.slice(0, query.limit)
    const texts = yield* textsOf({ ...found, rows }, query.books, query.stepMs)
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

  const inTurns = <T>(work: RestingWork<T>): Promise<T> =>
    workInTurns(work, longTurnMs).finally(groups.forgetLarge)

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

  /** The newest rows are in no block yet, so most pages that begin with them end before the first block. */
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

  /** A page of past days comes from the blocks of its only feed; grouped feeds have no such blocks. */
  function* packedOrComposed(query: PageQuery): RestingWork<Page | UnfinishedPage> {
    const page = query.feeds.some(isGrouped) ? undefined : yield* packed.page(armsOf(query, lookup.id), query)
    return page ?? (yield* composed(query))
  }

  const finalPage: SeriesReader['finalPage'] = (query, finality, missing) => {
    const final = finality.length === 1 ? finality[0] : undefined
    if (final === undefined) return undefined
    const id = lookup.id(final.feed)
    return id === undefined ? undefined : blocks.page(id, query, final, missing)
  }

  /** The newest row at or before a time; its text is built while the file is in the same state. */
  const rowAt = ({ feeds, time, notBefore, instrument, books: request }: AtQuery): FoundRow | undefined => {
    const range = { from: notBefore ?? 0, to: time, toInclusive: true }
    const filters = instrument === undefined ? {} : { instruments: [instrument] }
    const found = workAtOnce(rowsOf({ feeds, range, order: 'desc', limit: 1, filters }, 1))
    const [row] = found.rows
    if (row === undefined) return undefined
    return { position: row.position, text: workAtOnce(textsOf(found, request, undefined)).next().value ?? '' }
  }

  return {
    oneState,
    page: (query) =>
      oneState(() =>
        isComposed(query)
          ? (newestPage(query) ?? workForOneTurn(packedOrComposed(query), turnMs))
          : plain(query),
      ),
    finalPage,
    count: (query) =>
      oneState(() => {
        if (isComposed(query)) return workForOneTurn(rowsOf(query, query.limit), turnMs)?.rows.length
        const arms = armsOf(query, lookup.id)
        return arms.length === 0 || query.limit < 1 ? 0 : pages.count(arms, query)
      }),
    pageInTurns: (query) => inTurns(packedOrComposed(query)),
    countInTurns: async (query) => (await inTurns(rowsOf(query, query.limit))).rows.length,
    at: (query) => oneState(() => rowAt(query)),
  }
}

function inOrder({ order }: SeriesQuery): (a: StoredRow | BookRef, b: StoredRow | BookRef) => number {
  const sign = order === 'asc' ? 1 : -1
  return (a, b) => comparePositions(a.position, b.position) * sign
}

interface RowsOfPage {
  rows: readonly (StoredRow | BookRef)[]
  reader: GroupReader
}

function isRef(row: StoredRow | BookRef): row is BookRef {
  return 'view' in row
}
