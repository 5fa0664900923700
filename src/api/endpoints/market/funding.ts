import { base } from '../../../contract/costs.ts'
import { at, list } from '../../../contract/endpoint.ts'
import { optional, rowsPage, source, symbol } from '../../../contract/params.ts'
import { FundingRow } from '../../../core/rows/schemas.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { endpoint } from '../services.ts'
import { feedsOf } from './feeds.ts'
import { listRows } from './list-rows.ts'

const SOURCES = ['cexa_futures', 'perpdex'] as const

export const funding = endpoint({
  path: 'GET /v1/funding',
  doc: {
    tag: 'market',
    summary: 'Funding rates',
    description:
      'One row per settlement: every 8 hours on the futures exchange, hourly on `perpdex`. Without a source both are interleaved in time.',
  },
  access: { scope: 'market', history: { of: 'funding', whenOlder: 'refuse', refusal: 'tier_restricted' } },
  params: {
    symbol: symbol(),
    source: optional(source(...SOURCES)),
    ...rowsPage({ default: 100, max: 1_000 }),
  },
  cost: base(50).perRow(3),
  returns: list('Funding', FundingRow),
  aliases: [at('GET /v1/perpdex/funding', { source: 'perpdex' }, 'Funding rates of perpetuals')],
  run: (context) => {
    const { symbol: asset, source: asked } = context.input
    return listRows(context, {
      feeds: feedsOf('funding', asked === undefined ? SOURCES : [asked], asset as AssetSymbol, undefined),
    })
  },
})
