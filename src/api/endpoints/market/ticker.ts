import { base } from '../../../contract/costs.ts'
import { list } from '../../../contract/endpoint.ts'
import { optional, rowsPage, source, symbol } from '../../../contract/params.ts'
import { TickerRow } from '../../../core/rows/schemas.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { endpoint } from '../services.ts'
import { feedsOf, sourcesNamed, spelling } from './feeds.ts'
import { listRows } from './list-rows.ts'

const SOURCES = ['cexa', 'cexa_futures'] as const

export const ticker = endpoint({
  path: 'GET /v1/ticker',
  doc: {
    tag: 'market',
    summary: 'Best bid and ask, one row per second',
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
    ...rowsPage({ default: 60, max: 3_600 }),
  },
  cost: base(50).perRow(5),
  returns: list('Ticker', TickerRow),
  run: (context) => {
    const { symbol: asset, source: asked } = context.input
    const sources = [...new Set((asked === undefined ? SOURCES : [asked]).flatMap(sourcesNamed))]
    return listRows(context, {
      feeds: feedsOf('ticker', sources, asset as AssetSymbol, undefined),
      spell: spelling(asked, undefined),
    })
  },
})
