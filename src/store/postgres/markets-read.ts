import { MARKET_TYPES } from '../../core/rows/market.ts'
import type { MarketRow } from '../../core/rows/schemas.ts'
import { SOURCES, type Source } from '../../core/source.ts'
import { SYMBOLS } from '../../core/symbol.ts'
import { latestEnd, NO_END } from '../markets/market-windows.ts'
import type {
  FoundMarket,
  MarketFilter,
  MarketPage,
  MarketPosition,
  MarketQuery,
  MarketStore,
} from '../markets.ts'
import { arrayOf } from './columns.ts'
import { type Database, type Statement, statement } from './database.ts'
import { storable } from './texts.ts'

const BY_IDENTIFIER = statement(
  'market_get',
  `SELECT m.text FROM market_identifiers i
      JOIN markets m ON m.source_rank = i.source_rank AND m.market_id = i.market_id
    WHERE i.identifier = $1 AND ($2::int IS NULL OR i.source_rank = $2) AND ($3::text IS NULL OR m.symbol = $3)
    ORDER BY i.source_rank, i.market_id LIMIT 1`,
)
/** Shortest duration first, because the types are in that order. */
const HOLDING = statement(
  'markets_holding',
  `SELECT m.text FROM unnest($3::text[], $5::bigint[]) WITH ORDINALITY AS t (market_type, latest, place)
      JOIN markets m ON m.source_rank = $1 AND m.symbol = $2 AND m.market_type = t.market_type
        AND m.end_ms > $4::bigint AND m.start_ms <= $4 AND m.end_ms <= t.latest
    ORDER BY t.place, m.end_ms, m.market_id LIMIT $6`,
)

/**
 * The filter of every list. Parameters that are not asked for are NULL, and the planner drops their conditions. $8 to
 * $10 are the position. The order is (end in either direction, source, id), while a plain row comparison would need all
 * columns in one direction.
 */
const whereOf = (order: 'asc' | 'desc') => `
    ($1::int IS NULL OR source_rank = $1) AND ($2::text IS NULL OR symbol = $2)
    AND ($3::text IS NULL OR market_type = $3)
    AND ($5::boolean IS NULL OR CASE WHEN $5 THEN NOT resolved AND end_ms > $4::bigint ELSE resolved OR end_ms <= $4 END)
    AND CASE $6::text
      WHEN 'resolved' THEN resolved
      WHEN 'closed' THEN NOT resolved AND end_ms <= $4
      WHEN 'open' THEN NOT resolved AND end_ms > $4 AND (start_ms IS NULL OR start_ms <= $4)
      WHEN 'upcoming' THEN NOT resolved AND end_ms > $4 AND start_ms > $4
      ELSE true END
    AND ($8::bigint IS NULL OR (end_ms ${order === 'asc' ? '>=' : '<='} $8
      AND (end_ms <> $8 OR (source_rank, market_id) > ($9::int, $10::text))))`

/** A generic plan for all filters would read the whole list for each page. */
const PLAN_ANEW = statement('markets_plan', "SELECT set_config('plan_cache_mode', 'force_custom_plan', true)")

const LISTS = { asc: listOf('asc'), desc: listOf('desc') }
const LISTS_BY_WINDOW = { asc: listByWindow('asc'), desc: listByWindow('desc') }
const COUNTS = { asc: countOf('asc'), desc: countOf('desc') }
const COUNTS_BY_WINDOW = { asc: countByWindow('asc'), desc: countByWindow('desc') }

function listOf(order: 'asc' | 'desc'): Statement {
  return statement(
    `markets_${order}`,
    `SELECT text, end_ms, source_rank AS rank, market_id AS id FROM markets WHERE ${whereOf(order)}
      ORDER BY end_ms ${order}, source_rank, market_id LIMIT $7`,
  )
}

function countOf(order: 'asc' | 'desc'): Statement {
  return statement(
    `markets_count_${order}`,
    `SELECT count(*) AS count FROM (SELECT 1 FROM markets WHERE ${whereOf(order)} LIMIT $7) m`,
  )
}

/**
 * Lists markets of one duration, which may be rare: in the order of all markets, every market would be read for one
 * page. The index is therefore read separately for each source ($11) and symbol ($12).
 */
function listByWindow(order: 'asc' | 'desc'): Statement {
  const place = `end_ms ${order}, source_rank, market_id LIMIT $7`
  return statement(
    `markets_window_${order}`,
    `SELECT m.text, m.end_ms, m.source_rank AS rank, m.market_id AS id
      FROM unnest($11::int[]) AS s (source) CROSS JOIN unnest($12::text[]) AS y (asset) CROSS JOIN LATERAL (
        SELECT * FROM markets
          WHERE source_rank = s.source AND symbol = y.asset AND market_type = $3 AND ${whereOf(order)}
          ORDER BY ${place}) m
      ORDER BY m.${place.replace(', ', ', m.').replace(', market', ', m.market')}`,
  )
}

function countByWindow(order: 'asc' | 'desc'): Statement {
  return statement(
    `markets_count_window_${order}`,
    `SELECT count(*) AS count FROM (SELECT 1
      FROM unnest($11::int[]) AS s (source) CROSS JOIN unnest($12::text[]) AS y (asset) CROSS JOIN LATERAL (
        SELECT 1 FROM markets
          WHERE source_rank = s.source AND symbol = y.asset AND market_type = $3 AND ${whereOf(order)} LIMIT $7) m
      LIMIT $7) c`,
  )
}

interface ListedMarket {
  text: string
  end_ms: number
  rank: number
  id: string
}

export function marketReader(database: Database): MarketStore {
  const plannedRows = <R>(list: Statement, values: readonly unknown[]) =>
    database.snapshot(async (queries) => {
      const [, rows] = await Promise.all([queries.rows(PLAN_ANEW), queries.rows<R>(list, values)])
      return rows
    })
  return {
    async get(identifier, { source, symbol } = {}) {
      const rank = source === undefined ? null : SOURCES.indexOf(source)
      const [row] = await database.rows<{ text: string }>(BY_IDENTIFIER, [
        storable(identifier.toLowerCase()),
        rank,
        symbol ?? null,
      ])
      return row && toMarket(row.text)
    },
    async list(query) {
      const { order = 'desc' } = query
      const values = valuesOf(query, query.limit + 1)
      const parts = partsOf(query)
      const rows =
        parts === undefined
          ? plannedRows<ListedMarket>(LISTS[order], values)
          : plannedRows<ListedMarket>(LISTS_BY_WINDOW[order], [...values, ...parts])
      return toPage(await rows, query)
    },
    async count(query) {
      const { order = 'desc' } = query
      const values = valuesOf(query, query.limit)
      const parts = partsOf(query)
      const rows =
        parts === undefined
          ? plannedRows<{ count: number }>(COUNTS[order], values)
          : plannedRows<{ count: number }>(COUNTS_BY_WINDOW[order], [...values, ...parts])
      return (await rows)[0]?.count ?? 0
    },
    async holding({ source, symbol, marketType, time, limit }) {
      const types = marketType === undefined ? ([...MARKET_TYPES, ''] as const) : [marketType]
      const latest = types.map((type) => latestEnd(type, time))
      const values = [SOURCES.indexOf(source), symbol, types, time, latest, limit]
      return (await database.rows<{ text: string }>(HOLDING, values)).map(({ text }) => toMarket(text))
    },
  }
}

/**
 * The sources and symbols for a list of one duration. Undefined for other lists, and for unresolved markets that have
 * ended, which are few and have their own index.
 */
function partsOf({ source, symbol, marketType, state }: MarketFilter): unknown[] | undefined {
  if (marketType === undefined || state?.status === 'closed') return undefined
  const sources = (source === undefined ? SOURCES : [source]).map((name) => SOURCES.indexOf(name))
  return [arrayOf(sources), symbol === undefined ? [...SYMBOLS] : [symbol]]
}

function valuesOf(query: MarketFilter & Pick<MarketQuery, 'position'>, limit: number): unknown[] {
  const { source, symbol, marketType, state, position } = query
  return [
    source === undefined ? null : SOURCES.indexOf(source),
    symbol ?? null,
    marketType ?? null,
    state?.atMs ?? null,
    state?.active ?? null,
    state?.status ?? null,
    limit,
    position === undefined ? null : (position.endMs ?? NO_END),
    position === undefined ? null : SOURCES.indexOf(position.source),
    position === undefined ? null : storable(position.marketId),
  ]
}

function toPage(rows: readonly ListedMarket[], query: MarketQuery): MarketPage {
  const page = rows.slice(0, query.limit)
  const last = page.at(-1)
  return {
    text: page.map(({ text }) => text).join(query.separator),
    count: page.length,
    hasMore: rows.length > query.limit,
    last: last === undefined ? undefined : toPosition(last),
  }
}

function toPosition({ end_ms, rank, id }: ListedMarket): MarketPosition {
  return { endMs: end_ms === NO_END ? null : end_ms, source: SOURCES[rank] as Source, marketId: id }
}

function toMarket(text: string): FoundMarket {
  return { text, market: JSON.parse(text) as MarketRow }
}
