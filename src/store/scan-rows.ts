/** Reads stored rows back as typed values. This is the only place where served text is parsed again. */

import type { Dataset, Feed } from '../core/feed.ts'
import type { MarketRow, ServedRows } from '../core/rows/schemas.ts'
import type { FoundMarket, MarketPosition, MarketQuery, MarketStore } from './markets.ts'
import type { Position, RowFilters, SeriesStore, TimeRange } from './series.ts'

/** Rows held in memory at a time. */
const PAGE_ROWS = 5_000
const PAGE_MARKETS = 500

/**
 * Iterates over the rows of a feed in order, page by page, including rows that are written ahead of the current
 * position during the scan.
 */
export function scanRows<D extends Dataset>(
  series: Pick<SeriesStore, 'page'>,
  feed: Feed<D>,
  range: TimeRange,
  filters: RowFilters = {},
): AsyncGenerator<ServedRows[D]> {
  return scan(rowPages(series, feed, range, filters))
}

/** A row whose numbers are the text that was stored, because a double does not hold every digit of it. */
export type ExactRow<Row> = { [Field in keyof Row]: ExactValue<Row[Field]> }
type ExactValue<Value> = Value extends number ? string : Value

export function scanExactRows<D extends Dataset>(
  series: Pick<SeriesStore, 'page'>,
  feed: Feed<D>,
  range: TimeRange,
  filters: RowFilters = {},
): AsyncGenerator<ExactRow<ServedRows[D]>> {
  return scan(rowPages(series, feed, range, filters), withExactNumbers)
}

const withExactNumbers = (_field: string, value: unknown, context?: { readonly source: string }) =>
  typeof value === 'number' ? context?.source : value

/** The same for an entry of the catalogue. */
export const exactMarket = ({ text }: FoundMarket): ExactRow<MarketRow> =>
  JSON.parse(text, withExactNumbers) as ExactRow<MarketRow>

function rowPages(series: Pick<SeriesStore, 'page'>, feed: Feed, range: TimeRange, filters: RowFilters) {
  const query = { feeds: [feed], range, order: 'asc', limit: PAGE_ROWS, separator: '\n', filters } as const
  return (position?: Position) => series.page(position ? { ...query, position } : query)
}

/** Iterates over the markets of the catalogue in list order, page by page. */
export function scanMarkets(
  markets: Pick<MarketStore, 'list'>,
  filter: Omit<MarketQuery, 'limit' | 'position' | 'separator'>,
): AsyncGenerator<MarketRow> {
  const query = { ...filter, limit: PAGE_MARKETS, separator: '\n' }
  return scan((position?: MarketPosition) => markets.list(position ? { ...query, position } : query))
}

async function* scan<Row, P>(
  read: (position?: P) => Promise<{ text: string; count: number; hasMore: boolean; last: P | undefined }>,
  revive?: Parameters<typeof JSON.parse>[1],
): AsyncGenerator<Row> {
  for (let page = await read(); ; page = await read(page.last)) {
    if (page.count > 0) for (const line of page.text.split('\n')) yield JSON.parse(line, revive) as Row
    if (!page.hasMore) return
  }
}
