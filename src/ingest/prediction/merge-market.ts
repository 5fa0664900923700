/** Merges a market that is sent again with what was known about it. */

import type { MarketInput, MarketType } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { FoundMarket } from '../../store/markets.ts'
import { exactMarket } from '../../store/scan-rows.ts'

/** Known values stay: a winner, tokens, prices that only we received, and figures that are left out later. */
export function mergeKnown(seen: MarketInput, known: MarketInput): MarketInput {
  const isUndone = known.status === 'resolved' && seen.status !== 'resolved'
  const base = isUndone
    ? {
        ...seen,
        status: known.status,
        active: false,
        winner: known.winner ?? null,
        resolvedAt: known.resolvedAt ?? null,
      }
    : seen
  // The price at an end that has moved since is not the price at the end.
  const isSameEnd = known.endTime == null || base.endTime == null || base.endTime === known.endTime
  const tokens = base.tokens === undefined || base.tokens.length === 0 ? known.tokens : base.tokens
  return {
    ...base,
    // A contract whose end moves lasts longer than first listed, but its rows stay in the feed that they are in.
    marketType: known.marketType ?? base.marketType ?? null,
    tokens: tokens ?? [],
    resolvedAt: base.resolvedAt ?? known.resolvedAt ?? null,
    // A volume from before the close is not the final one.
    volume: base.volume ?? (base.status === known.status ? (known.volume ?? null) : null),
    liquidity: base.liquidity ?? known.liquidity ?? null,
    referencePriceStart: base.referencePriceStart ?? known.referencePriceStart ?? null,
    referencePriceEnd: base.referencePriceEnd ?? (isSameEnd ? (known.referencePriceEnd ?? null) : null),
    createdAt: base.createdAt ?? known.createdAt ?? null,
    updatedAt: base.updatedAt ?? known.updatedAt ?? null,
    tags: base.tags === undefined || base.tags.length === 0 ? (known.tags ?? []) : base.tags,
    settlement: base.settlement ?? known.settlement ?? null,
  }
}

/** Converts the fields that `mergeKnown` uses, with all their digits. */
export function marketOfStored(found: FoundMarket): MarketInput {
  const row = exactMarket(found)
  return {
    marketId: row.market_id,
    source: row.source as MarketInput['source'],
    symbol: row.symbol as AssetSymbol,
    marketType: (row.market_type ?? null) as MarketType | null,
    endTime: row.end_time === null ? null : Date.parse(row.end_time),
    active: row.active,
    status: row.status as MarketInput['status'],
    winner: row.winner,
    resolvedAt: row.resolved_at === null ? null : Date.parse(row.resolved_at),
    tokens: row.tokens.map(({ token_id: tokenId, outcome }) => ({ tokenId, outcome })),
    createdAt: row.created_at == null ? null : Date.parse(row.created_at),
    updatedAt: row.updated_at == null ? null : Date.parse(row.updated_at),
    tags: row.tags ?? [],
    volume: row.volume,
    liquidity: row.liquidity,
    referencePriceStart: row.reference_price_start,
    referencePriceEnd: row.reference_price_end,
  }
}
