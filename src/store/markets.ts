/** The storage port of the market catalogue. */

import type { MarketStatus, MarketType } from '../core/rows/market.ts'
import type { MarketRow } from '../core/rows/schemas.ts'
import type { Source } from '../core/source.ts'
import type { AssetSymbol } from '../core/symbol.ts'

export interface MarketFilter {
  source?: Source
  symbol?: AssetSymbol
  marketType?: MarketType
  /** Filters by the state of the markets at an instant. */
  state?: { atMs: number; active?: boolean; status?: MarketStatus }
}

/** A position in a list. Markets are sorted by end (a perpetual comes last), source and id. */
export interface MarketPosition {
  /** End in milliseconds; null for a perpetual. */
  endMs: number | null
  source: Source
  marketId: string
}

export interface MarketQuery extends MarketFilter {
  limit: number
  /** By end: latest first (`desc`, the default) or soonest first. */
  order?: 'asc' | 'desc'
  position?: MarketPosition
  separator: string
}

export interface MarketPage {
  text: string
  count: number
  hasMore: boolean
  last: MarketPosition | undefined
}

export interface FoundMarket {
  text: string
  market: MarketRow
}

export interface MarketStore {
  /** By market id, condition id, slug, ticker, token id or alias, ignoring case. */
  get(
    identifier: string,
    filter?: { source?: Source; symbol?: AssetSymbol },
  ): Promise<FoundMarket | undefined>
  list(query: MarketQuery): Promise<MarketPage>
  /** The number of entries that the page of this query would have. */
  count(query: Omit<MarketQuery, 'separator'>): Promise<number>
  /**
   * The markets whose window [start, end) contains an instant, shortest duration first; or only those of one duration,
   * where '' means markets without a duration.
   */
  holding(query: {
    source: Source
    symbol: AssetSymbol
    marketType?: MarketType | ''
    time: number
    limit: number
  }): Promise<FoundMarket[]>
}
