/** Pages of rows that are stored one by one in the tables of their datasets. */
import type { Dataset, Feed } from '../../core/feed.ts'
import { SOURCES, type Source } from '../../core/source.ts'
import { type Arm, armsOf, comparePositions } from '../order/arms.ts'
import type { Page, PageQuery, Position, SeriesQuery } from '../series.ts'
import type { Queries } from './database.ts'
import { rowsStatement, textStatement } from './series-statements.ts'

export interface StoredRow {
  readonly feed: number
  readonly position: Position
  readonly text: string
}

export const EMPTY_PAGE: Page = {
  text: '',
  count: 0,
  hasMore: false,
  last: undefined,
  firstTs: undefined,
  lastTs: undefined,
}

/** A page as a statement returns it. */
export interface PageRow {
  text: string | null
  found: number
  first_ts: number | null
  last_ts: number | null
  /** The next three may be missing in a page without further rows, whose rows are identified by their time alone. */
  last_rank?: number | null
  last_instrument?: string | null
  last_seq?: number | null
  /** The row after the page, which is also the last one in `text`. */
  next_text?: string | null
}

/** The arms of a query by dataset; nearly always there is one dataset. */
export function armsByDataset(
  query: SeriesQuery,
  id: (feed: Feed) => number | undefined,
): Map<Dataset, Arm[]> {
  const datasets = [...new Set(query.feeds.map(({ dataset }) => dataset))]
  const all = datasets.map((dataset): [Dataset, Arm[]] => {
    const feeds = query.feeds.filter((feed) => feed.dataset === dataset)
    return [dataset, armsOf({ ...query, feeds }, id)]
  })
  return new Map(all.filter(([, arms]) => arms.length > 0))
}

/** Reads a page of one dataset. */
export async function readPage(
  queries: Queries,
  dataset: Dataset,
  arms: readonly Arm[],
  query: PageQuery,
): Promise<Page> {
  const { statement, values } = textStatement(dataset, arms, query)
  const [row] = await queries.rows<PageRow>(statement, values)
  return toPage(row, query)
}

export function toPage(
  row: PageRow | undefined,
  { feeds: [feed], limit, separator }: Pick<PageQuery, 'feeds' | 'limit' | 'separator'>,
): Page {
  const { text, found, first_ts, last_ts } = row ?? {}
  if (row === undefined || text == null || found === undefined || first_ts == null || last_ts == null)
    return EMPTY_PAGE
  const { next_text, last_rank } = row
  return {
    text: next_text == null ? text : text.slice(0, text.length - next_text.length - separator.length),
    count: Math.min(found, limit),
    hasMore: found > limit,
    last: {
      ts: last_ts,
      source: (last_rank == null ? feed?.source : SOURCES[last_rank]) as Source,
      instrument: row.last_instrument ?? '',
      seq: row.last_seq ?? 0,
    },
    firstTs: first_ts,
    lastTs: last_ts,
  }
}

/** Reads up to `limit` single rows from all datasets. */
export async function readStoredRows(
  queries: Queries,
  arms: ReadonlyMap<Dataset, readonly Arm[]>,
  query: SeriesQuery,
  limit: number,
): Promise<StoredRow[]> {
  if (limit < 1) return []
  const lists = await Promise.all(
    [...arms].map(async ([dataset, own]) => {
      const { statement, values } = rowsStatement(dataset, own, query, limit, 'rows')
      const rows = await queries.rows<RowRow>(statement, values)
      return rows.map(({ feed_id, text, ts, rank, instrument, seq }) => ({
        feed: feed_id,
        text,
        position: { ts, source: SOURCES[rank] as Source, instrument, seq },
      }))
    }),
  )
  const [only, ...others] = lists
  if (only !== undefined && others.length === 0) return only
  const sign = query.order === 'asc' ? 1 : -1
  return lists
    .flat()
    .sort((a, b) => comparePositions(a.position, b.position) * sign)
    .slice(0, limit)
}

interface RowRow {
  feed_id: number
  ts: number
  rank: number
  instrument: string
  seq: number
  text: string
}

export async function countRows(
  queries: Queries,
  arms: ReadonlyMap<Dataset, readonly Arm[]>,
  query: SeriesQuery,
): Promise<number> {
  if (query.limit < 1) return 0
  const counts = await Promise.all(
    [...arms].map(async ([dataset, own]) => {
      const { statement, values } = rowsStatement(dataset, own, query, query.limit, 'count')
      const [row] = await queries.rows<{ count: number }>(statement, values)
      return row?.count ?? 0
    }),
  )
  return Math.min(
    query.limit,
    counts.reduce((sum, count) => sum + count, 0),
  )
}
