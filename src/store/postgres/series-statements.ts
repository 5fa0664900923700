/**
 * The statements of pages. A page reads one *arm* per feed (and per instrument, if instruments are asked for): a range
 * of one index, already in order and cut to the limit of the page. The arms are merged in the order of pages. A page
 * leaves the database as one row, whatever its length.
 *
 * There is a statement per table, order, number of arms (rounded up to one of a few sizes) and kind of result. The arms
 * contain the times twice, because whole keys do not tell the planner which partitions it needs. The usual page, which
 * is one feed of candles that fit into it, has its own statement (`wholeStatement`), which takes the server half of the
 * time if it reads a single partition.
 */
import { type Dataset, hasOneRowPerInstant } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { Span } from '../coverage.ts'
import { type Arm, edgeOf, endOf, seqBeside } from '../order/arms.ts'
import type { SeriesQuery } from '../series.ts'
import { sizeFor, spansColumn, stateColumn, statesColumn } from './coverage-read.ts'
import { type Statement, statement } from './database.ts'
import { seriesTable } from './partitions.ts'
import { storable } from './texts.ts'

interface Shape {
  readonly dataset: Dataset
  readonly order: 'asc' | 'desc'
  readonly arms: number
  readonly isByInstrument: boolean
}

type Kind =
  | { readonly result: 'rows' }
  | { readonly result: 'count' }
  | { readonly result: 'text' }
  /** The text and the states of its feeds. */
  | { readonly result: 'stated' }
  /** The text, and the states and coverage of this many feeds. */
  | { readonly result: 'covered'; readonly feeds: number }

export interface BoundStatement {
  readonly statement: Statement
  readonly values: unknown[]
}

/**
 * Parameters: limit, end of the range, side, value, open rows only; then those of the result; then those of the arms.
 */
const FIRST_OF_RESULT = 6
const RESULT_PARAMETERS = { rows: 0, count: 0, text: 1, stated: 2, covered: 6 } as const
const PARAMETERS_PER_ARM = 5

const statements = new Map<string, Statement>()

/** Takes arms of one dataset, at least one, and reads at most `limit` rows; statements with text read one more. */
export function rowsStatement(
  dataset: Dataset,
  arms: readonly Arm[],
  query: SeriesQuery,
  limit: number,
  kind: 'rows' | 'count',
): BoundStatement {
  return bind(dataset, arms, query, limit, { result: kind }, [])
}

export function textStatement(
  dataset: Dataset,
  arms: readonly Arm[],
  query: SeriesQuery & { readonly separator: string },
): BoundStatement {
  return bind(dataset, arms, query, query.limit, { result: 'text' }, [query.separator])
}

/** Adds the states of feeds, which are passed as `feedsFor` returns them. */
export function statedStatement(
  dataset: Dataset,
  arms: readonly Arm[],
  query: SeriesQuery & { readonly separator: string },
  feeds: string,
): BoundStatement {
  return bind(dataset, arms, query, query.limit, { result: 'stated' }, [query.separator, feeds])
}

/** Whether the page has room for every row of the range, each of which is identified by its time alone. */
export function fitsOnPage({ feeds, range, limit, filters }: SeriesQuery): boolean {
  const [feed, ...others] = feeds
  if (feed === undefined || others.length > 0 || filters !== undefined || feed.interval === '') return false
  return hasOneRowPerInstant(feed) && endOf(range) - range.from <= limit * INTERVAL_MS[feed.interval]
}

/** The times in which a page of one arm whose rows are identified by their time alone can have rows. */
export function timesOf(query: SeriesQuery, arm: Arm): Span {
  const { ts, instrument, seq } = edgeOf(query, arm)
  if (query.order === 'desc') return { from: query.range.from, to: ts }
  // A key without a sequence is before every row of its instant.
  return { from: instrument === '' && seq < 0 ? ts : ts + 1, to: endOf(query.range) }
}

/**
 * The rows of a feed in a range, for a page that has room for all of them, and the state of the feed.
 * @param table the one of its dataset, or the partition that contains the range: opening all of them takes the server
 * as long as reading the page
 */
export function wholeStatement(
  table: string,
  feed: number,
  { from, to }: Span,
  { order, limit, separator }: Pick<SeriesQuery, 'order' | 'limit'> & { readonly separator: string },
): BoundStatement {
  const name = `whole_${table}_${order}`
  const values = [separator, feed, from, to, limit]
  return { statement: made(name, wholeTexts(table, order)), values }
}

const WHOLE_PARAMETERS = ['text', 'bigint', 'bigint', 'bigint', 'bigint']

function wholeTexts(table: string, order: SeriesQuery['order']) {
  const [down, first, last] = order === 'asc' ? ['', 'min', 'max'] : [' DESC', 'max', 'min']
  const select = ([separator, feed, from, to, limit]: readonly string[]) =>
    `SELECT string_agg(text, ${separator}) AS text, count(*) AS found, ${first}(ts) AS first_ts,
      ${last}(ts) AS last_ts, ${stateColumn(`${feed}`)} FROM (SELECT ts, text FROM ${table} WHERE feed_id = ${feed}
      AND ts >= ${from} AND ts < ${to} ORDER BY ts${down} LIMIT ${limit} + 1) a`
  // The planner does not look into a subquery; if it knew the length of the arrays, a short one would look cheaper than
  // the plan that it has kept, and it would plan each time.
  const arrays = WHOLE_PARAMETERS.map((type, i) => `(SELECT $${i + 1}::${type}[])`)
  return {
    text: () => select(WHOLE_PARAMETERS.map((type, i) => `$${i + 1}::${type}`)),
    forSeveral: () => `SELECT q.place, page.* FROM unnest(${arrays.join(', ')}) WITH ORDINALITY
      q (separator, feed, low, high, most, place),
      LATERAL (${select(['q.separator', 'q.feed', 'q.low', 'q.high', 'q.most'])}) page`,
  }
}

export interface CoveredBounds {
  /** The ids of the feeds, as `feedsFor` returns them. */
  readonly feeds: string
  readonly count: number
  /**
   * The range whose coverage is read. If more rows follow the last one, the range ends with that row, which lasts
   * `rowMs`; in a backward walk, which has no `rowMs`, it begins there.
   */
  readonly from: number
  readonly to: number
  readonly rowMs: number | null
  /** The range begins at the last row even if no more rows follow. */
  readonly isFromRow: boolean
}

export function coveredStatement(
  dataset: Dataset,
  arms: readonly Arm[],
  query: SeriesQuery & { readonly separator: string },
  { feeds, count, from, to, rowMs, isFromRow }: CoveredBounds,
): BoundStatement {
  const kind = { result: 'covered', feeds: sizeFor(count) } as const
  return bind(dataset, arms, query, query.limit, kind, [query.separator, feeds, from, to, rowMs, isFromRow])
}

function bind(
  dataset: Dataset,
  arms: readonly Arm[],
  query: SeriesQuery,
  limit: number,
  kind: Kind,
  ofResult: readonly unknown[],
): BoundStatement {
  if (!Number.isSafeInteger(limit) || limit < 0) throw new RangeError(`not a row count: ${limit}`)
  const { order, range, filters = {} } = query
  const isByInstrument = arms[0]?.instrument !== undefined
  const shape = { dataset, order, arms: sizeFor(arms.length), isByInstrument }
  const values: unknown[] = [
    limit,
    order === 'asc' ? endOf(range) : range.from,
    filters.side ?? null,
    filters.minUsd ?? null,
    filters.open === true,
    ...ofResult,
  ]
  for (const arm of arms) {
    const edge = edgeOf(query, arm)
    if (arm.instrument === undefined)
      values.push(arm.feed, arm.rank, edge.ts, edge.seq, storable(edge.instrument))
    else values.push(arm.feed, arm.rank, edge.ts, seqBeside(edge, arm.instrument), arm.instrument)
  }
  for (let i = arms.length; i < shape.arms; i++) values.push(-1, 0, 0, 0, '')
  return { statement: statementOf(shape, kind), values }
}

function statementOf(shape: Shape, kind: Kind): Statement {
  const { dataset, order, arms, isByInstrument } = shape
  const what = kind.result === 'covered' ? `covered${kind.feeds}` : kind.result
  const name = `${what}_${dataset}_${order}_${isByInstrument ? 'i' : 'f'}${arms}`
  return made(name, { text: () => textOf(shape, kind) })
}

function made(name: string, texts: { text(): string; forSeveral?(): string }): Statement {
  const known = statements.get(name)
  if (known !== undefined) return known
  const several = texts.forSeveral && statement(`several_${name}`, texts.forSeveral())
  const created = statement(name, texts.text(), several)
  statements.set(name, created)
  return created
}

function textOf(shape: Shape, kind: Kind): string {
  const firstOfArms = FIRST_OF_RESULT + RESULT_PARAMETERS[kind.result]
  const merged = mergedArms(shape, firstOfArms, kind.result)
  if (kind.result === 'rows') return merged
  if (kind.result === 'count') return `SELECT count(*) AS count FROM (${merged}) a`
  // One pass over the rows, because windows and joins of the same rows would take longer than reading them.
  const atLast = (column: string) => `(array_agg(${column}))[least(count(*), $1)]`
  const page = `SELECT string_agg(text, $6::text) AS text, count(*) AS found, (array_agg(ts))[1] AS first_ts,
      ${atLast('ts')} AS last_ts, ${atLast('rank')} AS last_rank, ${atLast('instrument')} AS last_instrument,
      ${atLast('seq')} AS last_seq, (array_agg(text))[$1 + 1] AS next_text FROM (${merged}) a`
  if (kind.result === 'text') return page
  if (kind.result === 'stated') return `SELECT page.*, ${statesColumn('$7')} FROM (${page}) page`
  const bounds = `CASE WHEN $10::bigint IS NULL AND (found > $1 OR $11::boolean) THEN coalesce(last_ts, $8::bigint)
        ELSE $8 END AS low,
      CASE WHEN $10 IS NOT NULL AND found > $1 THEN least($9::bigint, last_ts + $10) ELSE $9 END AS high`
  const spans = spansColumn('$7', kind.feeds, '(SELECT low FROM page)', '(SELECT high FROM page)')
  return `WITH page AS MATERIALIZED (SELECT p.*, ${bounds} FROM (${page}) p)
    SELECT page.*, ${statesColumn('$7')}, ${spans} FROM page`
}

/** The rows in the order of pages; one more than the limit if a page must know whether more follow. */
function mergedArms(
  { dataset, order, arms, isByInstrument }: Shape,
  first: number,
  kind: Kind['result'],
): string {
  const ascending = order === 'asc'
  const down = ascending ? '' : ' DESC'
  const limit = kind === 'rows' || kind === 'count' ? '$1::bigint' : '$1::bigint + 1'
  const each = Array.from({ length: arms }, (_, i) => {
    const p = (offset: number) => `$${first + i * PARAMETERS_PER_ARM + offset}`
    const [feed, rank, ts, seq, instrument] = [p(0), p(1), p(2), p(3), p(4)]
    const after = ascending ? '>' : '<'
    const key = isByInstrument
      ? `instrument = ${instrument}::text AND (ts, seq) ${after} (${ts}::bigint, ${seq}::bigint)`
      : `(ts, instrument, seq) ${after} (${ts}::bigint, ${instrument}::text, ${seq}::bigint)`
    const times = ascending ? `ts >= ${ts} AND ts < $2::bigint` : `ts <= ${ts} AND ts >= $2::bigint`
    const keyOrder = isByInstrument ? `ts${down}, seq${down}` : `ts${down}, instrument${down}, seq${down}`
    const filters =
      '($3::text IS NULL OR side = $3) AND ($4::float8 IS NULL OR usd >= $4) AND NOT ($5::boolean AND closed)'
    return `(SELECT ts, ${rank}::int AS rank, instrument, seq, feed_id, text FROM ${seriesTable(dataset)}
      WHERE feed_id = ${feed}::bigint AND ${key} AND ${times} AND ${filters}
      ORDER BY ${keyOrder} LIMIT ${limit})`
  })
  if (each.length === 1) return each[0] ?? ''
  return `SELECT * FROM (${each.join(' UNION ALL ')}) m
    ORDER BY ts${down}, rank${down}, instrument${down}, seq${down} LIMIT ${limit}`
}
