import { TickerRow } from '../../../core/rows/ticker.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { base } from '../../contract/costs.ts'
import { list } from '../../contract/endpoint.ts'
import { optional, order, page, source, symbol, timeRange } from '../../contract/params.ts'
import { endpoint } from '../services.ts'
import { feedsOf, sourceOf, spelling } from './feeds.ts'
import { listRows } from './list-rows.ts'

const SOURCES = ['cexa', 'cexa_futures'] as const

export const ticker = endpoint({
  path: 'GET /v1/ticker',
  doc: {
    tag: 'market',
    summary: 'Best bid and ask, one row per second',
    example: {
      timestamp: '2026-03-14T04:00:00.000Z',
      symbol: 'BTC',
      source: 'cexa',
      bid_price: 61234.1,
      bid_size: 1.25,
      ask_price: 61234.11,
      ask_size: 0.4,
    },
  },
  access: {
    scope: 'market',
    tier: 'pro',
    feature: 'ticker',
    history: { of: 'trades', whenOlder: 'refuse', refusal: 'tier_restricted' },
  },
  params: {
    symbol: symbol(),
    source: optional(source(...SOURCES)),
    ...timeRange('exclusive'),
    ...page({ default: 60, max: 3_600 }),
    order: order(),
  },
  cost: base(50).perRow(5),
  returns: list('Ticker', TickerRow),
  run: (context) => {
    const { symbol: asset, source: asked } = context.input
    const sources = [...new Set((asked === undefined ? SOURCES : [asked]).flatMap(sourceOf))]
    return listRows(context, {
      feeds: feedsOf('ticker', sources, asset as AssetSymbol, undefined),
      spell: spelling(asked, undefined),
    })
  },
})
