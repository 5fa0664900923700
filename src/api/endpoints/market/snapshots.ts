import { base } from '../../../contract/costs.ts'
import { at, list } from '../../../contract/endpoint.ts'
import {
  flag,
  integer,
  interval,
  onlyFor,
  optional,
  rowsPage,
  source,
  symbol,
  withDefault,
  withExample,
} from '../../../contract/params.ts'
import { INTERVAL_MS, type Interval } from '../../../core/interval.ts'
import type { MarketType } from '../../../core/rows/market.ts'
import { SnapshotRow } from '../../../core/rows/schemas.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { endpoint } from '../services.ts'
import { findMarket } from './find-market.ts'
import { listRows, type RowsRequest } from './list-rows.ts'
import { conditionIdParam, marketIdParam, marketTypeParam, seriesParam } from './market-params.ts'
import { checkAvailable, SNAPSHOT_SOURCES, snapshotFeeds } from './snapshot-feeds.ts'

const STEPS = ['500ms', '1s', '5m', '15m', '1h', '4h', '24h'] as const satisfies Interval[]
const GRID = '500ms'
/** A sampled read looks up every step of every market. */
const isSampled = <S>(step: S): step is Exclude<S, undefined> => step !== undefined && step !== GRID
const ofA = { condition_id: conditionIdParam }
const ofB = { series: seriesParam }

export const snapshots = endpoint({
  path: 'GET /v1/snapshots',
  doc: {
    tag: 'market',
    summary: 'Order-book snapshots',
    description:
      'Samples on a 500 ms grid. `interval` picks the last sample of each step. The books of prediction markets come with `include_orderbook`; `perpdex` rows always carry their levels.',
  },
  access: { scope: 'market', history: { of: 'snapshots', whenOlder: 'refuse', refusal: 'plan_required' } },
  params: {
    source: withExample('predmkt_a', source(...SNAPSHOT_SOURCES)),
    symbol: symbol(),
    market_id: onlyFor(['predmkt_a', 'predmkt_b'], optional(marketIdParam)),
    market_type: onlyFor(['predmkt_a', 'predmkt_b'], optional(marketTypeParam)),
    include_orderbook: onlyFor(
      ['predmkt_a', 'predmkt_b'],
      flag('Adds both books of each market: every level of `predmkt_b`, up to `depth` of `predmkt_a`.'),
    ),
    include_diffs: onlyFor(
      ['predmkt_a', 'predmkt_b'],
      flag(
        'Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`.',
      ),
    ),
    depth: onlyFor(
      ['predmkt_a'],
      withDefault(integer('Levels per side of the books of `predmkt_a`.', { min: 1, max: 50 }), 10),
    ),
    interval: optional(interval(STEPS, 'Sampling step; left out: every stored sample.')),
    ...rowsPage({ default: 100, max: 1_000 }, 'inclusive'),
  },
  isLongRead: ({ interval }) => isSampled(interval),
  cost: base(50).perRow(4).perRowWhen('with include_orderbook on predmkt_a', 10, {
    source: 'predmkt_a',
    include_orderbook: true,
  }),
  returns: list('Snapshot', SnapshotRow),
  errors: ['market_not_found', 'data_not_available'],
  aliases: [
    at('GET /v1/predmkt_a/snapshots', { source: 'predmkt_a' }, 'Up/Down book snapshots', ofA),
    at(
      'GET /v1/predmkt_a/orderbook',
      { source: 'predmkt_a', include_orderbook: true },
      'Order-book history of prediction market A',
      ofA,
    ),
    at('GET /v1/predmkt_b/snapshots', { source: 'predmkt_b' }, 'Yes/No book snapshots', ofB),
    at(
      'GET /v1/predmkt_b/orderbook',
      { source: 'predmkt_b', include_orderbook: true },
      'Order-book history of prediction market B',
      ofB,
    ),
    at('GET /v1/perpdex/snapshots', { source: 'perpdex' }, 'L2 book snapshots of perpetuals'),
  ],
  run: async (context) => {
    const { input, services, range, path } = context
    const { store } = services.market
    const asset = input.symbol as AssetSymbol
    await checkAvailable(store, input.source, asset, {
      fromMs: range?.startGiven ? range.fromMs : undefined,
      toMs: range?.toMs ?? context.nowMs,
      nowMs: context.nowMs,
    })
    const isPrediction = input.source === 'predmkt_a' || input.source === 'predmkt_b'
    const marketId = isPrediction ? input.market_id : undefined
    const type = isPrediction ? input.market_type : undefined
    const asked = { param: 'market_id', sources: [input.source], symbol: asset }
    const market = marketId === undefined ? undefined : (await findMarket(store, marketId, asked)).market
    // A market is only in the feed of its own duration, so gaps of other durations do not affect it.
    const duration = (market?.market_type ?? undefined) as MarketType | undefined
    const hasDiffs = input.source === 'predmkt_b' || path === '/v1/predmkt_a/orderbook'
    const books: RowsRequest['books'] = {
      books: isPrediction && input.include_orderbook,
      diffs: isPrediction && input.include_diffs && hasDiffs,
      ...(input.source === 'predmkt_a' ? { depth: input.depth } : {}),
    }
    const given = (name: string) => context.given.has(name)
    const withoutEffect = [
      ...(given('include_diffs') && isPrediction && !hasDiffs ? ['include_diffs'] : []),
      ...(given('depth') && input.source === 'predmkt_a' && !books.books ? ['depth'] : []),
    ]
    const step = input.interval
    return listRows(context, {
      feeds: snapshotFeeds(input.source, asset, type ?? duration),
      ...(market ? { filters: { instruments: [market.market_id] } } : {}),
      ...(isSampled(step) ? { stepMs: INTERVAL_MS[step] } : {}),
      ...(books.books || books.diffs ? { books } : {}),
      spell: step === undefined ? [] : [{ field: 'interval', stored: GRID, asked: step }],
      alsoIgnored: withoutEffect,
      meta: { interval: step ?? GRID },
      endInclusive: true,
    })
  },
})
