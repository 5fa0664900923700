/** Reads stored rows back as typed values. This is the only place where served text is parsed again. */

import type { Dataset, Feed } from '../core/feed.ts'
import type { MarketRow, ServedRows } from '../core/rows/schemas.ts'
import type { MarketPosition, MarketQuery, MarketStore } from './markets.ts'
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
  const query = { feeds: [feed], range, order: 'asc', limit: PAGE_ROWS, separator: '\n', filters } as const
  return scan((position?: Position) => series.page(position ? { ...query, position } : query))
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
): AsyncGenerator<Row> {
  for (let page = await read(); ; page = await read(page.last)) {
    if (page.count > 0) for (const line of page.text.split('\n')) yield JSON.parse(line) as Row
    if (!page.hasMore) return
  }
}
