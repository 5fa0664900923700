import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { at, list } from '../../../contract/endpoint.ts'
import {
  allowedBySource,
  bool,
  foreignRowsPage,
  interval,
  onlyFor,
  optional,
  rowsPage,
  source,
  symbol,
  withDefault,
  withoutMeaning,
} from '../../../contract/params.ts'
import type { Interval } from '../../../core/interval.ts'
import { CandleRow } from '../../../core/rows/schemas.ts'
import type { Source } from '../../../core/source.ts'
import { endpoint } from '../services.ts'
import { askableIntervals, feedsOf, sourcesWithInterval, spelling } from './feeds.ts'
import { findSubject } from './find-market.ts'
import { listRows } from './list-rows.ts'
import { conditionIdParam, IDENTIFIERS_IN_WORDS, marketIdParam, tokenIdParam } from './market-params.ts'

/** The contract publishes two variants; this is a superset of both, with the bounds and depths of variant A. */
const SOURCES = ['cexa', 'cexa_spot', 'cexa_futures', 'perpdex', 'predmkt_a', 'predmkt_b', 'oracle'] as const
const INTERVALS = ['1s', '1m', '5m', '15m', '1h', '4h', '1d', '24h'] as const satisfies Interval[]

/** Prediction markets have no candles shorter than five minutes. */
const ofPredictions = (source: 'predmkt_a' | 'predmkt_b') => ({
  interval: withDefault(interval(askableIntervals(source)), '1h'),
})

/** Parameters that other services accept on `/{venue}/{symbol}`. */
const foreignNames = () => ({
  ...foreignRowsPage(),
  include_orderbook: withoutMeaning(bool('Candles have no order book: it is on the snapshots of the venue.')),
})

const NOTE =
  'Several rows per bar: one for each market and its Up and Down legs. Use market_id for both legs of one market, token_id for one series.'

export const candles = endpoint({
  path: 'GET /v1/candles',
  doc: {
    tag: 'market',
    summary: 'Candles (OHLCV)',
    description:
      'The current bar is served with `closed: false`. Rows come in time order when `start` is given, newest first otherwise. `oracle` has 5m and 15m only and no volume; prediction-market prices are probabilities.',
  },
  access: {
    scope: 'market',
    history: { of: 'candles', whenOlder: 'clamp', refusal: 'tier_restricted' },
    intervalGate: 'interval',
  },
  params: {
    symbol: symbol(),
    interval: allowedBySource(askableIntervals, withDefault(interval(INTERVALS), '1h')),
    source: optional(source(...SOURCES)),
    market_id: onlyFor(['predmkt_a', 'predmkt_b'], optional(marketIdParam)),
    token_id: onlyFor(['predmkt_a'], optional(tokenIdParam)),
    ...rowsPage({ default: 500, max: 10_000 }),
  },
  cost: base(50).perRow(3),
  returns: list('Candle', CandleRow, Type.Object({})),
  errors: ['market_not_found'],
  aliases: [
    at('GET /v1/predmkt_a/candles', { source: 'predmkt_a' }, 'Candles of prediction market A', {
      ...ofPredictions('predmkt_a'),
      condition_id: conditionIdParam,
    }),
    at(
      'GET /v1/predmkt_b/{symbol}',
      { source: 'predmkt_b' },
      'Probability and price history of prediction market B',
      {
        symbol: symbol({ orIdentifier: IDENTIFIERS_IN_WORDS }),
        ...ofPredictions('predmkt_b'),
        ...foreignNames(),
      },
    ),
    at('GET /v1/perpdex/{symbol}', { source: 'perpdex' }, 'Candles of a perpetual', foreignNames()),
  ],
  run: async (context) => {
    const { input } = context
    const found = findSubject(context, ['predmkt_a', 'predmkt_b'])
    const subject = found instanceof Promise ? await found : found
    const sources: Source[] = sourcesWithInterval(
      input.source ?? (subject.instruments ? subject.source : undefined),
      SOURCES,
      input.interval,
    )
    const unfiltered = sources.includes('predmkt_a') && subject.instruments === undefined
    return listRows(context, {
      feeds: feedsOf('candles', sources, subject.symbol, input.interval),
      ...(subject.instruments ? { filters: { instruments: subject.instruments } } : {}),
      spell: spelling(input.source, input.interval),
      ...(unfiltered ? { meta: { predmkt_a_note: NOTE } } : {}),
      clampToEarliest: true,
    })
  },
})
