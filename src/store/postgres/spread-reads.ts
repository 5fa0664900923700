/**
 * Reads pages and coverage if tables are on several servers, with one statement per feed, which a single server
 * answers. A statement over several feeds, or over their states as well, would first move rows between servers.
 */
import type { Dataset } from '../../core/feed.ts'
import { type Arm, comparePositions } from '../order/arms.ts'
import type { Page, PageQuery } from '../series.ts'
import { arrayOf } from './columns.ts'
import { type CoverageColumns, ReadFeeds, statesColumn } from './coverage-read.ts'
import { type Queries, statement } from './database.ts'
import { readPage, readStoredRows } from './series-page.ts'

const STATES = statement('coverage_states', `SELECT ${statesColumn('$1')}`)
const SPANS = statement(
  'coverage_spans_of',
  `SELECT feed_id, from_ts, to_ts, state FROM coverage_spans
    WHERE feed_id = $1::bigint AND from_ts < $3::bigint AND from_ts >=
      coalesce((SELECT max(from_ts) FROM coverage_spans WHERE feed_id = $1::bigint AND from_ts <= $2::bigint), $2)
    ORDER BY from_ts`,
)

interface SpanRow {
  readonly feed_id: number
  readonly from_ts: number
  readonly to_ts: number
  readonly state: string
}

/** A page of one dataset, with arms of any number of feeds. */
export async function readPageByFeed(
  queries: Queries,
  dataset: Dataset,
  arms: readonly Arm[],
  query: PageQuery,
): Promise<Page> {
  const byFeed = [...Map.groupBy(arms, ({ feed }) => feed).values()]
  const [only, ...others] = byFeed
  if (only !== undefined && others.length === 0) return readPage(queries, dataset, only, query)
  const lists = await Promise.all(
    byFeed.map((own) => readStoredRows(queries, new Map([[dataset, own]]), query, query.limit + 1)),
  )
  const sign = query.order === 'asc' ? 1 : -1
  const rows = lists.flat().sort((a, b) => comparePositions(a.position, b.position) * sign)
  const shown = rows.slice(0, query.limit)
  return {
    text: shown.map(({ text }) => text).join(query.separator),
    count: shown.length,
    hasMore: rows.length > query.limit,
    last: shown.at(-1)?.position,
    firstTs: shown[0]?.position.ts,
    lastTs: shown.at(-1)?.position.ts,
  }
}

/** The states of the feeds and their spans in [low, high). */
export async function readCoverageByFeed(
  queries: Queries,
  ids: readonly number[],
  low: number,
  high: number,
): Promise<ReadFeeds> {
  const [[row], ...spans] = await Promise.all([
    queries.rows<Pick<CoverageColumns, 'states'>>(STATES, [arrayOf(ids)]),
    ...ids.map((id) => queries.rows<SpanRow>(SPANS, [id, low, high])),
  ])
  const list = spans.flat().map(({ feed_id, from_ts, to_ts, state }) => [feed_id, from_ts, to_ts, state])
  return new ReadFeeds({ states: row?.states ?? null, spans: JSON.stringify(list) })
}
