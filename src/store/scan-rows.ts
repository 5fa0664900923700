/** Reads stored rows back as typed values: the only place where served text is parsed again. */
import type { Dataset, Feed } from '../core/feed.ts'
import type { MarketRow } from '../core/rows/market.ts'
import type { ServedRows } from '../core/rows/row-kinds.ts'
import type { MarketPosition, MarketQuery, MarketStore } from './markets.ts'
import type { Position, RowFilters, SeriesStore, TimeRange } from './series.ts'

/** Rows that are in memory at a time. */
const PAGE_ROWS = 5_000
const PAGE_MARKETS = 500

/**
 * The rows of a feed in their order, page by page; rows written meanwhile after the position of the scan are
 * included.
 */
export async function* scanRows<D extends Dataset>(
  series: Pick<SeriesStore, 'page'>,
  feed: Feed<D>,
  range: TimeRange,
  filters?: RowFilters,
): AsyncGenerator<ServedRows[D]> {
  let position: Position | undefined
  for (;;) {
    const page = await series.page({
      feeds: [feed],
      range,
      order: 'asc',
      limit: PAGE_ROWS,
      separator: '\n',
      ...(filters === undefined ? {} : { filters }),
      ...(position === undefined ? {} : { position }),
    })
    if (page.count > 0) for (const line of page.text.split('\n')) yield JSON.parse(line) as ServedRows[D]
    if (!page.hasMore) return
    position = page.last
  }
}

/** The markets of the catalogue in the order of its lists, page by page. */
export async function* scanMarkets(
  markets: Pick<MarketStore, 'list'>,
  query: Omit<MarketQuery, 'limit' | 'position' | 'separator'>,
): AsyncGenerator<MarketRow> {
  let position: MarketPosition | undefined
  for (;;) {
    const page = await markets.list({
      ...query,
      limit: PAGE_MARKETS,
      separator: '\n',
      ...(position === undefined ? {} : { position }),
    })
    if (page.count > 0) for (const line of page.text.split('\n')) yield JSON.parse(line) as MarketRow
    if (!page.hasMore) return
    position = page.last
  }
}
