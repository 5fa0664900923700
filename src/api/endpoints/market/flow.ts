import { base } from '../../../contract/costs.ts'
import { list } from '../../../contract/endpoint.ts'
import { interval, rowsPage, symbol, withExample } from '../../../contract/params.ts'
import type { Interval } from '../../../core/interval.ts'
import { FlowRow } from '../../../core/rows/schemas.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { endpoint } from '../services.ts'
import { feedsOf, spelling } from './feeds.ts'
import { listRows } from './list-rows.ts'

const SOURCE = 'cexa'
const INTERVALS = ['5m', '15m', '1h', '4h', '24h'] as const satisfies Interval[]

export const flow = endpoint({
  path: 'GET /v1/flow',
  doc: {
    tag: 'market',
    summary: 'Buy and sell pressure of the spot exchange',
    description:
      'Buckets of aggregate trades. Counts are null in bars that were rebuilt without aggregate trades.',
  },
  access: { scope: 'market', history: { of: 'flow', whenOlder: 'refuse', refusal: 'tier_restricted' } },
  params: {
    symbol: symbol(),
    interval: withExample('1h', interval(INTERVALS, 'Length of a bucket.')),
    ...rowsPage({ default: 500, max: 5_000 }),
  },
  cost: base(50).perRow(3),
  returns: list('Flow', FlowRow),
  onlySource: SOURCE,
  run: (context) => {
    const { symbol: asset, interval: asked } = context.input
    return listRows(context, {
      feeds: feedsOf('flow', [SOURCE], asset as AssetSymbol, asked),
      spell: spelling(undefined, asked),
      meta: { source: SOURCE },
    })
  },
})
