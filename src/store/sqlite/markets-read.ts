import type { DatabaseSync } from 'node:sqlite'
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
import { compareText } from '../order/arms.ts'

export type MarketReader = {
  [K in 'get' | 'list' | 'count' | 'holding']: (
    ...args: Parameters<MarketStore[K]>
  ) => Awaited<ReturnType<MarketStore[K]>>
}

type Bind = string | number

export function marketReader(database: DatabaseSync): MarketReader {
  const byIdentifier = database.prepare(
    `SELECT m.text, m.symbol, m.source_rank AS rank FROM market_identifiers i
      JOIN markets m ON m.source_rank = i.source_rank AND m.market_id = i.market_id
      WHERE i.identifier = ? ORDER BY i.source_rank, i.market_id`,
  )
  const holding = database.prepare(
    `SELECT text FROM markets
      WHERE source_rank = ?1 AND symbol = ?2 AND market_type = ?3 AND end_ms > ?4 AND start_ms <= ?4
        AND end_ms <= ?5
      ORDER BY end_ms, market_id LIMIT ?6`,
  )

  const byKey = database.prepare('SELECT text FROM markets WHERE source_rank = ? AND market_id = ?')

  return {
    get(identifier, filter = {}) {
      const row = byIdentifier
        .all(identifier.toLowerCase())
        .find(
          (found) =>
            (filter.source === undefined || SOURCES[Number(found.rank)] === filter.source) &&
            (filter.symbol === undefined || found.symbol === filter.symbol),
        )
      return row === undefined ? undefined : toMarket(String(row.text))
    },
    list(query) {
      const order = `ORDER BY end_ms ${query.order === 'asc' ? 'ASC' : 'DESC'}, source_rank, market_id LIMIT ?`
      // The order of all markets is used only without a duration: a duration may be rare, and filling a page could read
      // every market.
      if (query.marketType === undefined || query.state?.status === 'closed') {
        const { where, binds } = whereOf(query)
        const select = `SELECT text, end_ms, source_rank, market_id FROM markets ${where} ${order}`
        return toPage(database.prepare(select).all(...binds, query.limit + 1), query)
      }
      const parts = indexedParts(query)
      const { where } = whereOf(parts[0] ?? query)
      // Reads the index alone, because most of what the parts return is on no page. Left alone, the planner would
      // prefer the index that gives the order.
      const keys = database.prepare(
        `SELECT end_ms, source_rank, market_id FROM markets INDEXED BY markets_by_window ${where} ${order}`,
      )
      const places = parts.flatMap((part) => keys.all(...whereOf(part).binds, query.limit + 1))
      const first = places.sort(byPlace(query.order)).slice(0, query.limit + 1)
      return toPage(
        first.map((place) => ({
          ...place,
          ...byKey.get(Number(place.source_rank), String(place.market_id)),
        })),
        query,
      )
    },
    count(query) {
      let counted = 0
      for (const part of indexedParts(query)) {
        const { where, binds } = whereOf(part)
        const row = database
          .prepare(`SELECT count(*) AS n FROM (SELECT 1 FROM markets ${countedBy(part)} ${where} LIMIT ?)`)
          .get(...binds, query.limit - counted)
        counted += Number(row?.n)
        if (counted >= query.limit) break
      }
      return counted
    },
    holding({ source, symbol, marketType, time, limit }) {
      const rank = SOURCES.indexOf(source)
      const found: FoundMarket[] = []
      for (const type of marketType === undefined ? ([...MARKET_TYPES, ''] as const) : [marketType]) {
        const ends = latestEnd(type, time)
        for (const row of holding.all(rank, symbol, type, time, ends, limit - found.length)) {
          found.push(toMarket(String(row.text)))
        }
        if (found.length >= limit) break
      }
      return found
    },
  }
}

/**
 * Nearly all past markets are resolved, which the planner does not know; without the hint it would read all markets of
 * the source.
 */
function countedBy({ symbol, marketType, state }: MarketFilter): string {
  const isPast = state?.active === false || state?.status === 'resolved'
  const isIndexed = symbol !== undefined || marketType !== undefined
  return isPast && state?.status !== 'closed' && isIndexed ? 'INDEXED BY markets_by_window' : ''
}

/** The index of symbols and types begins with the source, so a filter without a source would read every market. */
function indexedParts<Q extends MarketFilter>(query: Q): Q[] {
  const { source, symbol, marketType } = query
  const isClosed = query.state?.status === 'closed'
  if (isClosed || (symbol === undefined && marketType === undefined)) return [query]
  const symbols = symbol === undefined ? SYMBOLS : [symbol]
  return (source === undefined ? SOURCES : [source]).flatMap((of) =>
    symbols.map((asset) => ({ ...query, source: of, symbol: asset })),
  )
}

/**
 * The order is (end in either direction, source, id), which one row comparison cannot express. The condition on the end
 * alone tells an index where to begin.
 */
const afterPosition = (order: MarketQuery['order']) => {
  const beyond = order === 'asc' ? '>' : '<'
  return `end_ms ${beyond}= ? AND (end_ms ${beyond} ? OR (source_rank, market_id) > (?, ?))`
}

/** The same order, for rows of several queries. */
function byPlace(order: MarketQuery['order']) {
  const sign = order === 'asc' ? 1 : -1
  return (a: Record<string, unknown>, b: Record<string, unknown>): number =>
    sign * (Number(a.end_ms) - Number(b.end_ms)) ||
    Number(a.source_rank) - Number(b.source_rank) ||
    compareText(String(a.market_id), String(b.market_id))
}

function whereOf(filter: MarketFilter & Pick<MarketQuery, 'order' | 'position'>): {
  where: string
  binds: Bind[]
} {
  const terms: [string, ...Bind[]][] = []
  // Few markets wait for their result. The `+` avoids the index of the source, which would read every market that ever
  // ended.
  const column = filter.state?.status === 'closed' ? '+source_rank' : 'source_rank'
  if (filter.source !== undefined) terms.push([`${column} = ?`, SOURCES.indexOf(filter.source)])
  if (filter.symbol !== undefined) terms.push(['symbol = ?', filter.symbol])
  if (filter.marketType !== undefined) terms.push(['market_type = ?', filter.marketType])
  if (filter.state !== undefined) terms.push(...stateTerms(filter.state))
  if (filter.position !== undefined) {
    const { endMs, source, marketId } = filter.position
    const end = endMs ?? NO_END
    terms.push([afterPosition(filter.order), end, end, SOURCES.indexOf(source), marketId])
  }
  const where = terms.length === 0 ? '' : `WHERE ${terms.map(([term]) => term).join(' AND ')}`
  return { where, binds: terms.flatMap(([, ...binds]) => binds) }
}

/** The same rules as `marketState`. `resolved = 0` is a literal so that the index of unresolved markets is used. */
function stateTerms({ atMs, active, status }: NonNullable<MarketFilter['state']>): [string, ...Bind[]][] {
  const terms: [string, ...Bind[]][] = []
  if (active === true) terms.push(['resolved = 0 AND end_ms > ?', atMs])
  if (active === false) terms.push(['(resolved = 1 OR end_ms <= ?)', atMs])
  if (status === 'resolved') terms.push(['resolved = 1'])
  if (status === 'closed') terms.push(['resolved = 0 AND end_ms <= ?', atMs])
  if (status === 'open') {
    terms.push(['resolved = 0 AND end_ms > ? AND (start_ms IS NULL OR start_ms <= ?)', atMs, atMs])
  }
  if (status === 'upcoming') terms.push(['resolved = 0 AND end_ms > ? AND start_ms > ?', atMs, atMs])
  return terms
}

function toPage(rows: Record<string, unknown>[], query: MarketQuery): MarketPage {
  const page = rows.slice(0, query.limit)
  const last = page.at(-1)
  return {
    text: page.map((row) => String(row.text)).join(query.separator),
    count: page.length,
    hasMore: rows.length > query.limit,
    last: last === undefined ? undefined : toPosition(last),
  }
}

function toPosition(row: Record<string, unknown>): MarketPosition {
  const end = Number(row.end_ms)
  return {
    endMs: end === NO_END ? null : end,
    source: SOURCES[Number(row.source_rank)] as Source,
    marketId: String(row.market_id),
  }
}

function toMarket(text: string): FoundMarket {
  return { text, market: JSON.parse(text) as MarketRow }
}
