import type { Feed } from '../../core/feed.ts'
import { spanOf } from '../books/block.ts'
import { readTexts } from '../books/compose.ts'
import { isGrouped } from '../books/group.ts'
import { bookSamples } from '../books/sample.ts'
import { type BookRef, bookRows } from '../books/walk.ts'
import { armsOf, comparePositions, endOf } from '../order/arms.ts'
import { sampledRows, stepEnd } from '../order/sample.ts'
import { takeInTurns } from '../rows/take-in-turns.ts'
import type { RestingWork } from '../rows/work-in-turns.ts'
import type { AtQuery, BookRequest, FoundRow, Page, PageQuery, SeriesQuery } from '../series.ts'
import { type BlockCache, LoadedGroups } from './books-groups.ts'
import type { Database, Queries } from './database.ts'
import { ofOneMoment } from './one-moment.ts'
import type { InReadSlot } from './read-slots.ts'
import type { FeedLookup } from './series-lookup.ts'
import {
  armsByDataset,
  countRows,
  EMPTY_PAGE,
  readPage,
  readStoredRows,
  type StoredRow,
} from './series-page.ts'
import { readSampledRows } from './series-sample.ts'
import { firstWindow } from './series-window.ts'
import { readPageByFeed } from './spread-reads.ts'

/**
 * The minimum length of a walk's turns. A walk should end soon, because it holds a connection, and because with tables
 * on several servers it is repeated if the feeds change meanwhile.
 */
const WALK_MS = 4

/** A page that is read except for the texts of its rows, because making them from books takes long. */
interface UnfinishedPage extends Omit<Page, 'text' | 'parts'> {
  finish(): Promise<Page>
}

/** Rows whose texts are made later. */
interface RowsOfPage {
  readonly rows: readonly (StoredRow | BookRef)[]
  /** The texts of the rows, in their order. */
  readonly texts: () => Iterator<string>
}

export interface SeriesReader {
  page(query: PageQuery): Promise<Page>
  count(query: SeriesQuery): Promise<number>
  at(query: AtQuery): Promise<FoundRow | undefined>
  /** Whether a page needs more than one statement. */
  isComposed(query: SeriesQuery): boolean
  composedPage(tx: Queries, query: PageQuery): Promise<UnfinishedPage>
  composedRow(tx: Queries, query: AtQuery): Promise<FoundRow | undefined>
}

export function seriesReader(parts: {
  database: Database
  lookup: FeedLookup
  blocks: BlockCache
  holdMs: number
  inReadSlot: InReadSlot
}): SeriesReader {
  const { database, lookup, blocks, holdMs, inReadSlot } = parts

  const plainRows = (tx: Queries, query: SeriesQuery, limit: number): Promise<StoredRow[]> => {
    const feeds = query.feeds.filter((feed) => !isGrouped(feed))
    const { stepMs } = query
    if (stepMs !== undefined)
      return readSampledRows(tx, armsOf({ ...query, feeds }, lookup.id), { ...query, stepMs }, limit)
    return readStoredRows(tx, armsByDataset({ ...query, feeds }, lookup.id), query, limit)
  }

  const rowsOf = async (
    tx: Queries,
    query: SeriesQuery,
    limit: number,
    taken: number,
    request?: BookRequest,
  ): Promise<RowsOfPage> => {
    if (query.stepMs !== undefined && query.feeds.some((feed) => feed.dataset !== 'snapshots'))
      throw new RangeError('only snapshots are sampled')
    if (limit < 1) return { rows: [], texts: () => [].values() }
    const arms = armsOf({ ...query, feeds: query.feeds.filter(isGrouped) }, lookup.id)
    const groups = new LoadedGroups(arms, {
      order: query.order,
      startSpan: startSpan(query),
      cache: blocks,
      holdMs: Math.max(holdMs, WALK_MS),
    })
    const [others] = await Promise.all([plainRows(tx, query, limit), groups.begin(tx)])
    const { stepMs } = query
    function* walk(): RestingWork<(StoredRow | BookRef)[]> {
      const refs =
        arms.length === 0
          ? []
          : stepMs === undefined
            ? yield* bookRows(groups, arms, query, limit)
            : yield* sampledRows(bookSamples(groups), arms, { ...query, stepMs }, limit)
      if (others.length === 0) return refs
      const sign = query.order === 'asc' ? 1 : -1
      return [...refs, ...others]
        .sort((a, b) => comparePositions(a.position, b.position) * sign)
        .slice(0, limit)
    }
    function* read(rows: readonly (StoredRow | BookRef)[]): RestingWork<RowsOfPage> {
      const shown = rows.slice(0, taken)
      const textOf = yield* readTexts(groups, shown.filter(isRef), request, stepMs)
      const texts = () => {
        let refs = 0
        return shown.values().map((row) => (isRef(row) ? textOf(refs++) : row.text))
      }
      return { rows, texts }
    }
    return groups.run(tx, walk, read)
  }

  const composedPage: SeriesReader['composedPage'] = async (tx, query) => {
    const found = await rowsOf(tx, query, query.limit + 1, query.limit, query.books)
    const rows = found.rows.slice(0, query.limit)
    const head = {
      count: rows.length,
      hasMore: found.rows.length > query.limit,
      last: rows.at(-1)?.position,
      firstTs: rows[0]?.position.ts,
      lastTs: rows.at(-1)?.position.ts,
    }
    return {
      ...head,
      finish: async () => ({
        ...head,
        text: (await takeInTurns(found.texts(), holdMs)).join(query.separator),
      }),
    }
  }

  /** The newest row at or before a time. */
  const composedRow: SeriesReader['composedRow'] = async (tx, query) => {
    const { rows, texts } = await rowsOf(tx, rowQuery(query), 1, 1, query.books)
    const [row] = rows
    return row === undefined ? undefined : { position: row.position, text: texts().next().value ?? '' }
  }

  const isComposed = (query: SeriesQuery) =>
    query.stepMs !== undefined ||
    query.feeds.some(isGrouped) ||
    query.feeds.some(({ dataset }) => dataset !== query.feeds[0]?.dataset)

  const idsOf = (feeds: readonly Feed[]) => feeds.map(lookup.id).filter((id) => id !== undefined)
  const find = (feeds: readonly Feed[]) => lookup.findMissing(database, feeds)

  return {
    isComposed,
    composedPage,
    composedRow,
    async page(query) {
      await find(query.feeds)
      if (isComposed(query))
        return (
          await inReadSlot(query, () =>
            ofOneMoment(
              database,
              () => idsOf(query.feeds),
              (tx) => composedPage(tx, query),
            ),
          )
        ).finish()
      const [arms] = armsByDataset(query, lookup.id)
      if (arms === undefined || query.limit < 1) return EMPTY_PAGE
      const read = (await database.isSpread()) ? readPageByFeed : readPage
      const near = firstWindow(query, lookup.knownTimes(query.feeds))
      const found = near && (await read(database, ...arms, near))
      return found?.hasMore === true ? found : read(database, ...arms, query)
    },
    async count(query) {
      await find(query.feeds)
      const isCounted = !query.feeds.some(isGrouped) && query.stepMs === undefined
      if (isCounted && !isComposed(query)) return countRows(database, armsByDataset(query, lookup.id), query)
      return inReadSlot(query, () =>
        ofOneMoment(
          database,
          () => idsOf(query.feeds),
          async (tx) =>
            isCounted
              ? countRows(tx, armsByDataset(query, lookup.id), query)
              : (await rowsOf(tx, query, query.limit, 0)).rows.length,
        ),
      )
    },
    async at(query) {
      await find(query.feeds)
      if (isComposed(rowQuery(query)))
        return ofOneMoment(
          database,
          () => idsOf(query.feeds),
          (tx) => composedRow(tx, query),
        )
      const arms = armsByDataset(rowQuery(query), lookup.id)
      const near = firstWindow(rowQuery(query), lookup.knownTimes(query.feeds))
      const [found] = near === undefined ? [] : await readStoredRows(database, arms, near, 1)
      const [row] = found === undefined ? await readStoredRows(database, arms, rowQuery(query), 1) : [found]
      return row && { position: row.position, text: row.text }
    },
  }
}

/** Asks for the row of a time as a page: the last one at or before it. */
export function rowQuery({ feeds, time, notBefore, instrument }: AtQuery): SeriesQuery {
  return {
    feeds,
    range: { from: notBefore ?? 0, to: time, toInclusive: true },
    order: 'desc',
    limit: 1,
    filters: instrument === undefined ? {} : { instruments: [instrument] },
  }
}

/** The span in which a walk over groups begins. When sampling, that is at the edge of its first row's step. */
function startSpan({ order, range, position, stepMs }: SeriesQuery): number {
  if (order === 'asc') {
    const from = Math.max(range.from, position?.ts ?? range.from)
    return spanOf(stepMs === undefined ? from : Math.max(range.from, stepEnd(from, stepMs) - stepMs + 1))
  }
  const last = endOf(range) - 1
  const to = Math.min(last, position?.ts ?? last)
  return spanOf(stepMs === undefined ? to : Math.min(last, stepEnd(to, stepMs)))
}

function isRef(row: StoredRow | BookRef): row is BookRef {
  return 'view' in row
}
