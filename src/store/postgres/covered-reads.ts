/**
 * Rows together with the coverage and finality of their feeds, all of one snapshot: one statement where the rows lie one
 * by one, otherwise one read-only transaction.
 */
import type { Feed } from '../../core/feed.ts'
import type { Coverage, Span } from '../coverage.ts'
import type { EnvironmentStore } from '../environment.ts'
import { endOf } from '../order/arms.ts'
import { pageSpan, rowEnd } from '../order/page-span.ts'
import type { AtQuery, Finality, SeriesQuery } from '../series.ts'
import { type CoverageColumns, feedsFor, ReadFeeds, readCoverage } from './coverage-read.ts'
import type { Database } from './database.ts'
import type { FeedLookup } from './series-lookup.ts'
import { armsByDataset, EMPTY_PAGE, type PageRow, toPage } from './series-page.ts'
import { rowQuery, type SeriesReader } from './series-read.ts'
import { type CoveredBounds, coveredStatement } from './series-statements.ts'

export function coveredReads(parts: {
  database: Database
  lookup: FeedLookup
  reader: SeriesReader
}): Pick<EnvironmentStore, 'coveredPage' | 'coveredRow'> {
  const { database, lookup, reader } = parts

  const idsOf = (feeds: readonly Feed[]) => feeds.map(lookup.id).filter((id) => id !== undefined)

  /** What was read is the newest known of its feeds. */
  const noteStates = (note: ReturnType<FeedLookup['beginRead']>, { states }: ReadFeeds) =>
    note(
      states.values().map(({ id, before, epoch, version }) => ({ id, final_before: before, epoch, version })),
    )

  const finalityOf = (feeds: readonly Feed[], read: ReadFeeds): Finality[] =>
    feeds.map((feed) => read.finality(feed, lookup.id(feed)))

  const coverageOf = (feeds: readonly Feed[], read: ReadFeeds, { from, to }: Span, end: number): Coverage =>
    read.coverage(feeds, lookup.id, from, Math.max(from, Math.min(to, end)))

  /** A page of one dataset and the coverage of its feeds, in one statement; undefined without any known feed. */
  const readPlain = async (
    query: SeriesQuery & { readonly separator: string },
    bounds: Omit<CoveredBounds, 'feeds' | 'count'>,
  ) => {
    const [arms] = armsByDataset(query, lookup.id)
    const ids = idsOf(query.feeds)
    if (arms === undefined || query.limit < 1) {
      const read = await readCoverage(database, ids, bounds.from, bounds.to)
      return { page: EMPTY_PAGE, read }
    }
    const covered = { ...bounds, feeds: feedsFor(ids), count: ids.length }
    const { statement, values } = coveredStatement(...arms, query, covered)
    const [row] = await database.rows<PageRow & CoverageColumns>(statement, values)
    return { page: toPage(row, query.limit), read: new ReadFeeds(row ?? { states: null, spans: null }) }
  }

  return {
    async coveredPage(query) {
      const { feeds, coverageTo, order, range } = query
      await lookup.findMissing(database, feeds)
      const note = lookup.beginRead()
      const { page, read, finish } = await (async () => {
        if (!reader.isComposed(query)) {
          // At most what a page without further rows covers; with them less.
          const most = pageSpan(query, { hasMore: false, lastTs: undefined })
          const to = Math.min(most.to, coverageTo)
          const rowMs = order === 'asc' ? rowEnd(query, 0) : null
          return {
            ...(await readPlain(query, { from: most.from, to, rowMs, isFromRow: false })),
            finish: undefined,
          }
        }
        return database.snapshot(async (tx) => {
          const unfinished = await reader.composedPage(tx, query)
          const { from, to } = pageSpan(query, unfinished)
          const read = await readCoverage(tx, idsOf(feeds), from, Math.min(to, coverageTo, endOf(range)))
          return { page: unfinished, read, finish: unfinished.finish }
        })
      })()
      noteStates(note, read)
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
      const note = lookup.beginRead()
      const { row, read } = await readRow(query)
      noteStates(note, read)
      const covered = { from: row?.position.ts ?? coverageFrom, to: time + 1 }
      return { row, covered, coverage: coverageOf(feeds, read, covered, coverageTo) }
    },
  }

  async function readRow(query: AtQuery & { coverageFrom: number; coverageTo: number }) {
    const { feeds, time, coverageFrom, coverageTo } = query
    const to = Math.min(time + 1, coverageTo)
    const asPage = { ...rowQuery(query), separator: ',' }
    if (reader.isComposed(asPage))
      return database.snapshot(async (tx) => {
        const row = await reader.composedRow(tx, query)
        return { row, read: await readCoverage(tx, idsOf(feeds), row?.position.ts ?? coverageFrom, to) }
      })
    const { page, read } = await readPlain(asPage, { from: coverageFrom, to, rowMs: null, isFromRow: true })
    const row = page.last === undefined ? undefined : { position: page.last, text: page.text }
    return { row, read }
  }
}
