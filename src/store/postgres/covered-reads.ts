/**
 * Reads rows together with the coverage and finality of their feeds, all from one snapshot: in one statement if rows
 * are stored one by one, otherwise in one read-only transaction.
 */
import type { Dataset, Feed } from '../../core/feed.ts'
import { DAY_MS } from '../../core/time.ts'
import type { Coverage, Span } from '../coverage.ts'
import type { EnvironmentStore } from '../environment.ts'
import type { Arm } from '../order/arms.ts'
import { pageSpan, rowEnd } from '../order/page-span.ts'
import type { AtQuery, Finality, Page, SeriesQuery } from '../series.ts'
import { isOfMissingTable } from './connection.ts'
import { type CoverageColumns, feedsFor, ReadFeeds, readCoverage } from './coverage-read.ts'
import type { Database } from './database.ts'
import { ofOneMoment, ofOneState } from './one-moment.ts'
import { partitionWith, seriesTable } from './partitions.ts'
import type { InReadSlot } from './read-slots.ts'
import type { FeedLookup } from './series-lookup.ts'
import { armsByDataset, EMPTY_PAGE, type PageRow, toPage } from './series-page.ts'
import { rowQuery, type SeriesReader } from './series-read.ts'
import {
  type BoundStatement,
  type CoveredBounds,
  coveredStatement,
  fitsOnPage,
  statedStatement,
  timesOf,
  wholeStatement,
} from './series-statements.ts'
import { firstWindow } from './series-window.ts'
import { readCoverageByFeed, readPageByFeed } from './spread-reads.ts'

type PlainQuery = SeriesQuery & { readonly separator: string }
/** A page with the states of its feeds. */
interface StatedPage {
  readonly row: (PageRow & Pick<CoverageColumns, 'states'>) | undefined
  readonly page: Page
}
type Bounds = Omit<CoveredBounds, 'feeds' | 'count'>

/** Other statements may have to wait behind a page of up to this many rows. */
const SHORT_ROWS = 1_000
const SHORT_FEEDS = 4
/**
 * Partitions up to this much older than the newest row are read singly. Each has statements of its own, which every
 * connection keeps, so older ones, which are read less often, have none.
 */
const SINGLE_PARTITIONS_MS = 366 * DAY_MS

/** A filter may skip any number of rows, so a filtered page is never short. */
const isShort = ({ limit, feeds, filters }: SeriesQuery): boolean =>
  limit <= SHORT_ROWS && feeds.length <= SHORT_FEEDS && filters === undefined

export function coveredReads(parts: {
  database: Database
  lookup: FeedLookup
  reader: SeriesReader
  inReadSlot: InReadSlot
}): Pick<EnvironmentStore, 'coveredPage' | 'coveredRow'> {
  const { database, lookup, reader, inReadSlot } = parts

  const idsOf = (feeds: readonly Feed[]) => feeds.map(lookup.id).filter((id) => id !== undefined)

  /** The returned function records what was read as the newest known state of its feeds. */
  const beginRead = (feeds: readonly Feed[]) => {
    const [note, ids] = [lookup.beginRead(), idsOf(feeds)]
    return ({ states }: ReadFeeds) => {
      note(
        states
          .values()
          .map(({ id, before, epoch, version }) => ({ id, final_before: before, epoch, version })),
      )
      lookup.forgetMissing(ids, states)
    }
  }

  const finalityOf = (feeds: readonly Feed[], read: ReadFeeds): Finality[] =>
    feeds.map((feed) => read.finality(feed, lookup.id(feed)))

  const coverageOf = (feeds: readonly Feed[], read: ReadFeeds, { from, to }: Span, end: number): Coverage =>
    read.coverage(feeds, lookup.id, from, Math.max(from, Math.min(to, end)))

  /** When the newest observation of each feed began, as last read; mostly it covers everything that is asked for. */
  const openFrom = new Map<number, number>()
  /** How far back the last page of a backward walk went, by feed. */
  const wentBackTo = new Map<number, number>()

  const mayBeOpen = (ids: readonly number[], { from, rowMs }: Bounds): boolean =>
    ids.every((id) => {
      const expected = rowMs === null ? Math.max(from, wentBackTo.get(id) ?? from) : from
      return expected >= (openFrom.get(id) ?? Number.POSITIVE_INFINITY)
    })

  /** Returns the time from which on the coverage of a page is needed. */
  const remember = (ids: readonly number[], bounds: Bounds, page: Page, read: ReadFeeds): number => {
    const isFromRow = bounds.rowMs === null && (page.hasMore || bounds.isFromRow)
    const from = isFromRow ? (page.lastTs ?? bounds.from) : bounds.from
    for (const id of ids) {
      const { openFrom: since = null, firstTs = null, lastTs = null } = read.states.get(id) ?? {}
      if (since === null) openFrom.delete(id)
      else openFrom.set(id, since)
      if (firstTs !== null && lastTs !== null) lookup.noteTimes(id, { first: firstTs, last: lastTs })
      if (bounds.rowMs === null) wentBackTo.set(id, from)
    }
    return from
  }

  const coverageIn: typeof readCoverage = async (...args) =>
    (await database.isSpread()) ? readCoverageByFeed(...args) : readCoverage(...args)

  /** Reads a page of one dataset and the coverage of its feeds. */
  const readPlain = (query: PlainQuery, bounds: Bounds): Promise<{ page: Page; read: ReadFeeds }> =>
    ofOneState(database, () => idsOf(query.feeds), {
      together: async () => {
        const near = firstWindow(query, lookup.knownTimes(query.feeds))
        const found = near && (await readOnce(near, bounds))
        return found?.page.hasMore === true ? found : readOnce(query, bounds)
      },
      byFeed: () => readByFeed(query, bounds),
    })

  const readByFeed = async (query: PlainQuery, bounds: Bounds): Promise<{ page: Page; read: ReadFeeds }> => {
    const [arms] = armsByDataset(query, lookup.id)
    const near = firstWindow(query, lookup.knownTimes(query.feeds))
    const read = (part: PlainQuery) =>
      arms === undefined || query.limit < 1 ? EMPTY_PAGE : readPageByFeed(database, ...arms, part)
    const found = near && (await read(near))
    const page = found?.hasMore === true ? found : await read(query)
    const { from, to, rowMs } = bounds
    const isFromRow = rowMs === null && (page.hasMore || bounds.isFromRow)
    const low = isFromRow ? (page.lastTs ?? from) : from
    const high = rowMs !== null && page.hasMore ? Math.min(to, (page.lastTs ?? to) + rowMs) : to
    const feeds = await readCoverageByFeed(database, idsOf(query.feeds), low, high)
    remember(idsOf(query.feeds), bounds, page, feeds)
    return { page, read: feeds }
  }

  /** Partitions from which a page had rows. */
  const filled = new Set<string>()

  /** Reads a page that has room for all rows of its range; from its partition alone, where that is known to exist. */
  const readWhole = async (
    query: PlainQuery,
    dataset: Dataset,
    [arm]: readonly Arm[],
    read: (statement: BoundStatement) => Promise<StatedPage>,
  ): Promise<StatedPage | undefined> => {
    if (arm === undefined) return undefined
    const times = timesOf(query, arm)
    const table = seriesTable(dataset)
    const { last = Number.POSITIVE_INFINITY } = lookup.knownTimes(query.feeds) ?? {}
    const partition = times.from >= last - SINGLE_PARTITIONS_MS ? partitionWith(table, times) : undefined
    const readFrom = (from: string) => read(wholeStatement(from, arm.feed, times, query))
    if (partition === undefined) return readFrom(table)
    if (filled.has(partition)) {
      try {
        return await readFrom(partition)
      } catch (error) {
        if (!isOfMissingTable(error)) throw error
        // It has expired.
        filled.delete(partition)
      }
    }
    const found = await readFrom(table)
    if (found.page.count > 0) filled.add(partition)
    return found
  }

  /** Takes one statement, or a second one if the first shows that more of the coverage is needed. */
  const readOnce = async (query: PlainQuery, bounds: Bounds): Promise<{ page: Page; read: ReadFeeds }> => {
    const [arms] = armsByDataset(query, lookup.id)
    const ids = idsOf(query.feeds)
    if (arms === undefined || query.limit < 1)
      return { page: EMPTY_PAGE, read: await readCoverage(database, ids, bounds.from, bounds.to) }
    const feeds = feedsFor(ids)
    const rows = isShort(query) ? database.shortRows : database.rows
    if (mayBeOpen(ids, bounds)) {
      const readStated = async ({ statement, values }: BoundStatement): Promise<StatedPage> => {
        const [row] = await rows<PageRow & Pick<CoverageColumns, 'states'>>(statement, values)
        return { row, page: toPage(row, query) }
      }
      const whole = fitsOnPage(query) ? await readWhole(query, ...arms, readStated) : undefined
      // More rows than fit on the page exist only if some lie beside the usual times.
      const { row, page } =
        whole === undefined || whole.page.hasMore
          ? await readStated(statedStatement(...arms, query, feeds))
          : whole
      const read = new ReadFeeds({ states: row?.states ?? null, spans: null })
      // The newest span is in the state of the feed, and no other span follows its start.
      if (read.isKnownFrom(ids, remember(ids, bounds, page, read))) return { page, read }
    }
    const { statement, values } = coveredStatement(...arms, query, { ...bounds, feeds, count: ids.length })
    const [row] = await rows<PageRow & CoverageColumns>(statement, values)
    const page = toPage(row, query)
    const read = new ReadFeeds(row ?? { states: null, spans: null })
    remember(ids, bounds, page, read)
    return { page, read }
  }

  return {
    async coveredPage(query) {
      const { feeds, coverageTo, order } = query
      await lookup.findMissing(database, feeds)
      const noteStates = beginRead(feeds)
      const { page, read, finish } = await (async () => {
        if (!reader.isComposed(query)) {
          // The most that a page without further rows covers; a page with further rows covers less.
          const most = pageSpan(query, { hasMore: false, lastTs: undefined })
          const to = Math.min(most.to, coverageTo)
          const rowMs = order === 'asc' ? rowEnd(query, 0) : null
          return {
            ...(await readPlain(query, { from: most.from, to, rowMs, isFromRow: false })),
            finish: undefined,
          }
        }
        return inReadSlot(query, () =>
          ofOneMoment(
            database,
            () => idsOf(feeds),
            async (tx) => {
              const unfinished = await reader.composedPage(tx, query)
              const { from, to } = pageSpan(query, unfinished)
              const read = await coverageIn(tx, idsOf(feeds), from, Math.min(to, coverageTo))
              return { page: unfinished, read, finish: unfinished.finish }
            },
          ),
        )
      })()
      noteStates(read)
      const covered = pageSpan(query, page)
      return {
        page: finish === undefined ? page : await finish(),
        finality: finalityOf(feeds, read),
        covered,
        coverage: coverageOf(feeds, read, covered, coverageTo),
      }
    },
    async coveredRow(query) {
      const { feeds, time, coverageFrom, coverageTo } = query
      await lookup.findMissing(database, feeds)
      const noteStates = beginRead(feeds)
      const { row, read } = await readRow(query)
      noteStates(read)
      const covered = { from: row?.position.ts ?? coverageFrom, to: time + 1 }
      return { row, covered, coverage: coverageOf(feeds, read, covered, coverageTo) }
    },
  }

  async function readRow(query: AtQuery & { coverageFrom: number; coverageTo: number }) {
    const { feeds, time, coverageFrom, coverageTo } = query
    const to = Math.min(time + 1, coverageTo)
    const asPage = { ...rowQuery(query), separator: ',' }
    if (reader.isComposed(asPage))
      return ofOneMoment(
        database,
        () => idsOf(feeds),
        async (tx) => {
          const row = await reader.composedRow(tx, query)
          return { row, read: await coverageIn(tx, idsOf(feeds), row?.position.ts ?? coverageFrom, to) }
        },
      )
    const { page, read } = await readPlain(asPage, { from: coverageFrom, to, rowMs: null, isFromRow: true })
    const row = page.last === undefined ? undefined : { position: page.last, text: page.text }
    return { row, read }
  }
}
