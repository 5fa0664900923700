import { Type } from 'typebox'
import type { MarketRow, MarketType } from '../../../core/rows/market.ts'
import { SnapshotRow } from '../../../core/rows/snapshot.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'
import { flat } from '../../contract/costs.ts'
import { at, object } from '../../contract/endpoint.ts'
import { flag, onlyFor, optional, source, symbol, time } from '../../contract/params.ts'
import { endpoint } from '../services.ts'
import { findMarket } from './find-market.ts'
import { marketIdParam } from './market-params.ts'
import { checkAvailable, SNAPSHOT_SOURCES, type SnapshotSource, snapshotFeeds } from './snapshot-feeds.ts'

/** Markets that hold an instant are tried in turn, shortest first; a row is nearly always in the first ones. */
const MOST_MARKETS_TRIED = 200

const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

export const snapshotsAt = endpoint({
  path: 'GET /v1/snapshots/at',
  doc: {
    tag: 'market',
    summary: 'The snapshot at or before a time',
    description:
      'Without `market_id` a prediction market answers with the market whose window holds the time, shortest duration first. `data` is null when nothing was recorded at or before the time.',
    example: {
      data: {
        timestamp: '2026-03-14T04:00:00.500Z',
        symbol: 'BTC',
        source: 'perpdex',
        interval: '500ms',
        market_id: null,
        best_bid: 61234,
        best_ask: 61235,
        mid_price: 61234.5,
        spread: 1,
        imbalance: 0.543211,
        bids: [[61234, 1.2]],
        asks: [[61235, 0.8]],
      },
      meta: { symbol: 'BTC', source: 'perpdex', time: '2026-03-14T04:00:00.700Z', ignored: [] },
    },
  },
  access: { scope: 'market', history: { of: 'snapshots', whenOlder: 'refuse', refusal: 'plan_required' } },
  params: {
    source: source(...SNAPSHOT_SOURCES),
    symbol: symbol(),
    time: time('The instant.'),
    market_id: onlyFor(['predmkt_a', 'predmkt_b'], optional(marketIdParam())),
    include_orderbook: onlyFor(['predmkt_a', 'predmkt_b'], flag('Adds both books of the market.')),
  },
  cost: flat(50),
  returns: object(
    'SnapshotAt',
    Type.Object({
      data: Type.Union([SnapshotRow, Type.Null()], { description: 'The snapshot; null when there is none.' }),
      meta: Type.Object(
        {
          symbol: nullable('Echo of the request.'),
          source: nullable('Echo of the request.'),
          time: Type.String({ format: 'date-time', description: 'The instant that was asked for.' }),
          ignored: Type.Array(Type.String(), { description: 'Parameters without a meaning for the source.' }),
        },
        { description: 'Echo of the request.' },
      ),
    }),
  ),
  errors: ['market_not_found', 'data_not_available'],
  aliases: [
    at('GET /v1/predmkt_a/snapshots/at', { source: 'predmkt_a' }, 'Up/Down snapshot at or before a time'),
    at('GET /v1/predmkt_b/snapshots/at', { source: 'predmkt_b' }, 'Yes/No snapshot at or before a time'),
    at('GET /v1/perpdex/snapshots/at', { source: 'perpdex' }, 'L2 snapshot at or before a time'),
  ],
  run: async (context) => {
    const { input, services, range } = context
    const { store } = services.market
    const asset = input.symbol as AssetSymbol
    await checkAvailable(store, input.source, asset, { toMs: input.time, nowMs: context.nowMs })
    const found = await snapshotAt(store, {
      source: input.source,
      symbol: asset,
      time: input.time,
      notBefore: range?.earliestMs ?? 0,
      marketId: context.ignored.includes('market_id') ? undefined : input.market_id,
      books: input.include_orderbook && !context.ignored.includes('include_orderbook'),
    })
    const meta = JSON.stringify({
      symbol: input.symbol,
      source: input.source,
      time: new Date(input.time).toISOString(),
      ignored: context.ignored,
    })
    return {
      kind: 'text',
      text: `{"data":${found ?? 'null'},"meta":${meta}}`,
      contentType: 'application/json; charset=utf-8',
      units: { row: found === undefined ? 0 : 1 },
    }
  },
})

interface AtQuestion {
  source: SnapshotSource
  symbol: AssetSymbol
  time: number
  notBefore: number
  marketId: string | undefined
  books: boolean
}

async function snapshotAt(store: EnvironmentStore, asked: AtQuestion): Promise<string | undefined> {
  const { source, symbol, time, notBefore } = asked
  const query = { time, notBefore, ...(asked.books ? { books: { books: true, diffs: false } } : {}) }
  if (source === 'perpdex') {
    const feeds = snapshotFeeds(source, symbol, undefined)
    return (await store.series.at({ feeds, ...query }))?.text
  }
  const rowOf = async (market: MarketRow) => {
    const feeds = snapshotFeeds(source, symbol, (market.market_type ?? undefined) as MarketType | undefined)
    return (await store.series.at({ feeds, instrument: market.market_id, ...query }))?.text
  }
  if (asked.marketId !== undefined) {
    return rowOf(await findMarket(store, asked.marketId, { param: 'market_id', source, symbol }))
  }
  for (const { market } of await store.markets.holding({ source, symbol, time, limit: MOST_MARKETS_TRIED })) {
    const row = await rowOf(market)
    if (row !== undefined) return row
  }
  return undefined
}
