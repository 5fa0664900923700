import { base } from '../../../contract/costs.ts'
import { at, list } from '../../../contract/endpoint.ts'
import { choice, onlyFor, optional, rowsPage, source, symbol } from '../../../contract/params.ts'
import { TradeRow } from '../../../core/rows/schemas.ts'
import { endpoint } from '../services.ts'
import { feedsOf } from './feeds.ts'
import { findSubject } from './find-market.ts'
import { listRows } from './list-rows.ts'
import { conditionIdParam, IDENTIFIERS_IN_WORDS, marketIdParam, tokenIdParam } from './market-params.ts'

const SOURCES = ['predmkt_a', 'predmkt_b', 'perpdex'] as const

export const trades = endpoint({
  path: 'GET /v1/trades',
  doc: {
    tag: 'market',
    summary: 'Trade ticks',
    description: 'Single trades. Spot exchange trades are on `/v1/flow` as buckets.',
  },
  access: { scope: 'market', history: { of: 'trades', whenOlder: 'clamp', refusal: 'tier_restricted' } },
  params: {
    symbol: symbol({ orIdentifier: IDENTIFIERS_IN_WORDS }),
    source: optional(source(...SOURCES)),
    market_id: onlyFor(['predmkt_a', 'predmkt_b'], optional(marketIdParam)),
    token_id: onlyFor(['predmkt_a'], optional(tokenIdParam)),
    side: optional(
      choice('Side of the aggressor. Left out: all.', ['buy', 'sell', 'all'] as const, {
        fault: 'invalid_side',
      }),
    ),
    ...rowsPage({ default: 500, max: 10_000 }),
  },
  cost: base(50).perRow(2),
  returns: list('Trade', TradeRow),
  errors: ['market_not_found'],
  aliases: [
    at('GET /v1/predmkt_a/trades', { source: 'predmkt_a' }, 'Trade ticks of prediction market A', {
      condition_id: conditionIdParam,
    }),
    at('GET /v1/perpdex/trades', { source: 'perpdex' }, 'Trade ticks of perpetuals'),
  ],
  run: async (context) => {
    const { input } = context
    const subject = await findSubject(context, ['predmkt_a', 'predmkt_b'])
    const sources = subject.source === undefined ? SOURCES : [subject.source]
    const filters = {
      ...(subject.instruments ? { instruments: subject.instruments } : {}),
      ...(input.side === undefined || input.side === 'all' ? {} : { side: input.side }),
    }
    return listRows(context, {
      feeds: feedsOf('trades', sources, subject.symbol, undefined),
      filters,
      clampToEarliest: true,
    })
  },
})
