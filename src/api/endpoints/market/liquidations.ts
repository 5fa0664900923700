import { base } from '../../../contract/costs.ts'
import { list } from '../../../contract/endpoint.ts'
import {
  choice,
  needsTier,
  number,
  optional,
  order,
  page,
  symbol,
  timeRange,
  withDefault,
} from '../../../contract/params.ts'
import { LiquidationRow } from '../../../core/rows/schemas.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { endpoint } from '../services.ts'
import { feedsOf } from './feeds.ts'
import { listRows } from './list-rows.ts'

const SOURCE = 'cexa_futures'
const LARGEST_USD = 1_000_000_000_000

export const liquidations = endpoint({
  path: 'GET /v1/liquidations',
  doc: {
    tag: 'market',
    summary: 'Liquidations of the futures exchange',
    description:
      'A sample: the venue publishes at most one liquidation per symbol and second. Kept for 90 days.',
  },
  access: {
    scope: 'market',
    history: { of: 'liquidations', whenOlder: 'refuse', refusal: 'tier_restricted' },
  },
  params: {
    symbol: symbol(),
    ...timeRange('exclusive'),
    side: withDefault(
      choice('Side that was liquidated.', ['long', 'short', 'all'] as const, { fault: 'invalid_side' }),
      'all',
    ),
    min_usd: needsTier(
      'business',
      optional(number('Least value in US dollars.', { min: 0, max: LARGEST_USD })),
    ),
    ...page({ default: 100, max: 1_000 }),
    order: order(),
  },
  cost: base(25).perRow(2),
  returns: list('Liquidation', LiquidationRow),
  onlySource: SOURCE,
  run: (context) => {
    const { symbol: asset, side, min_usd: minUsd } = context.input
    return listRows(context, {
      feeds: feedsOf('liquidations', [SOURCE], asset as AssetSymbol, undefined),
      filters: { ...(side === 'all' ? {} : { side }), ...(minUsd === undefined ? {} : { minUsd }) },
      meta: { source: SOURCE, sampled: true },
    })
  },
})
