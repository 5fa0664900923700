import { base } from '../../../contract/costs.ts'
import { at, list } from '../../../contract/endpoint.ts'
import { interval, optional, rowsPage, source, symbol, withDefault } from '../../../contract/params.ts'
import type { Interval } from '../../../core/interval.ts'
import { OpenInterestRow } from '../../../core/rows/schemas.ts'
import { endpoint } from '../services.ts'
import { feedsOf, spelling } from './feeds.ts'
import { findSubject } from './find-market.ts'
import { listRows } from './list-rows.ts'

const SOURCES = ['cexa_futures', 'perpdex', 'predmkt_b'] as const
const INTERVALS = ['5m', '15m', '1h', '4h', '1d', '24h'] as const satisfies Interval[]
/** Rows without a market are those of the whole symbol. */
const WHOLE_SYMBOL = ['']

export const openInterest = endpoint({
  path: 'GET /v1/open-interest',
  doc: {
    tag: 'market',
    summary: 'Open interest',
    description:
      'For `predmkt_b` a symbol gives the sum over its markets; a ticker in place of the symbol gives one market.',
  },
  access: {
    scope: 'market',
    history: { of: 'open_interest', whenOlder: 'refuse', refusal: 'tier_restricted' },
  },
  params: {
    symbol: symbol({ orIdentifier: 'the ticker or slug of a `predmkt_b` market' }),
    source: optional(source(...SOURCES)),
    interval: withDefault(interval(INTERVALS, 'Distance of the observations.'), '1h'),
    ...rowsPage({ default: 100, max: 1_000 }),
  },
  cost: base(50).perRow(3),
  returns: list('OpenInterest', OpenInterestRow),
  errors: ['market_not_found'],
  aliases: [at('GET /v1/perpdex/open-interest', { source: 'perpdex' }, 'Open interest of perpetuals')],
  run: async (context) => {
    const { input } = context
    const subject = await findSubject(context, ['predmkt_b'])
    const sources = subject.source === undefined ? SOURCES : [subject.source]
    return listRows(context, {
      feeds: feedsOf('open_interest', sources, subject.symbol, input.interval),
      filters: { instruments: subject.instruments ?? WHOLE_SYMBOL },
      spell: spelling(undefined, input.interval),
    })
  },
})
