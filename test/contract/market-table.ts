/**
 * The market endpoints as the contract and its decisions state them, typed in independently. Nothing here comes
 * from the declarations: a wrong declaration cannot agree with this table by construction.
 */

export type Plan = 'free' | 'developer' | 'business'
export const PLANS: readonly Plan[] = ['free', 'developer', 'business']

export type ParamRule =
  | { kind: 'symbol'; required: boolean; orIdentifier?: boolean }
  | { kind: 'enum'; values: readonly string[]; required?: boolean; code: string; status: 400 | 422 }
  | { kind: 'integer'; min: number; max: number; default?: number }
  | { kind: 'number'; min: number }
  | { kind: 'boolean' }
  | { kind: 'time'; required?: boolean }
  | { kind: 'cursor' }
  | { kind: 'identifier' }

export interface RouteRule {
  /** A path that works, with its identifiers filled in by the test. */
  path: string
  /** The least query that gives a page. */
  query: Readonly<Record<string, string>>
  params: Readonly<Record<string, ParamRule>>
  /** Parameters that the path fixes. */
  bound: Readonly<Record<string, string>>
  kind: 'list' | 'object'
  base: number
  perRow: number
  history?: HistoryRule
  minPlan?: Plan
  /** Codes that this endpoint answers with beyond the general ones. */
  notFound?: boolean
}

interface HistoryRule {
  days: Readonly<Record<Plan, number | null>>
  older: 'clamp' | 'refuse'
  refusal: { status: 402 | 403; code: 'plan_required' | 'tier_restricted' }
}

const TIER = { status: 403, code: 'tier_restricted' } as const
const days = (free: number, developer: number, business: number | null) => ({ free, developer, business })

const HISTORY = {
  candles: { days: days(7, 14, 31), older: 'clamp', refusal: TIER },
  trades: { days: days(7, 14, 31), older: 'clamp', refusal: TIER },
  snapshots: {
    days: days(7, 30, null),
    older: 'refuse',
    refusal: { status: 402, code: 'plan_required' },
  },
  open_interest: { days: days(7, 14, 31), older: 'refuse', refusal: TIER },
  liquidations: { days: days(7, 14, 31), older: 'refuse', refusal: TIER },
  funding: { days: days(7, 14, 31), older: 'refuse', refusal: TIER },
  /** Six months are at most 184 days. */
  flow: { days: days(7, 184, null), older: 'refuse', refusal: TIER },
  ticker: { days: days(7, 14, 31), older: 'refuse', refusal: TIER },
} as const satisfies Record<string, HistoryRule>

const source = (required: boolean, ...values: string[]): ParamRule => ({
  kind: 'enum',
  values,
  required,
  code: 'invalid_source',
  status: 400,
})
const interval = (required: boolean, ...values: string[]): ParamRule => ({
  kind: 'enum',
  values,
  required,
  code: 'invalid_interval',
  status: 400,
})
const symbol: ParamRule = { kind: 'symbol', required: true }
const symbolOrMarket: ParamRule = { kind: 'symbol', required: true, orIdentifier: true }
const order: ParamRule = { kind: 'enum', values: ['asc', 'desc'], code: 'invalid_param', status: 422 }
const range = { start: { kind: 'time' }, end: { kind: 'time' } } as const
const page = (fallback: number, max: number) =>
  ({ limit: { kind: 'integer', min: 1, max, default: fallback }, after: { kind: 'cursor' } }) as const
const marketType: ParamRule = {
  kind: 'enum',
  values: ['5m', '15m', '1h', '4h', '24h'],
  code: 'invalid_param',
  status: 422,
}

const CANDLES: RouteRule = {
  path: '/v1/candles',
  query: { symbol: 'BTC' },
  params: {
    symbol,
    interval: interval(false, '1s', '1m', '5m', '15m', '1h', '4h', '1d', '24h'),
    source: source(false, 'cexa', 'cexa_spot', 'cexa_futures', 'perpdex', 'predmkt_a', 'predmkt_b', 'oracle'),
    market_id: { kind: 'identifier' },
    token_id: { kind: 'identifier' },
    ...range,
    ...page(500, 10_000),
    order,
  },
  bound: {},
  kind: 'list',
  base: 50,
  perRow: 3,
  history: HISTORY.candles,
  notFound: true,
}

const SNAPSHOTS: RouteRule = {
  path: '/v1/snapshots',
  query: { source: 'perpdex', symbol: 'BTC' },
  params: {
    source: source(true, 'predmkt_a', 'predmkt_b', 'perpdex', 'cexa'),
    symbol,
    market_id: { kind: 'identifier' },
    market_type: marketType,
    include_orderbook: { kind: 'boolean' },
    include_diffs: { kind: 'boolean' },
    depth: { kind: 'integer', min: 1, max: 50 },
    interval: interval(false, '500ms', '1s', '5m', '15m', '1h', '4h', '24h'),
    ...range,
    ...page(100, 1_000),
    order,
  },
  bound: {},
  kind: 'list',
  base: 50,
  perRow: 4,
  history: HISTORY.snapshots,
}

const SNAPSHOTS_AT: RouteRule = {
  path: '/v1/snapshots/at',
  query: { source: 'perpdex', symbol: 'BTC', time: '2026-06-10T11:59:00Z' },
  params: {
    source: source(true, 'predmkt_a', 'predmkt_b', 'perpdex', 'cexa'),
    symbol,
    time: { kind: 'time', required: true },
    interval: interval(false, '5m', '15m', '1h', '4h', '24h'),
    market_id: { kind: 'identifier' },
    include_orderbook: { kind: 'boolean' },
  },
  bound: {},
  kind: 'object',
  base: 50,
  perRow: 0,
  history: HISTORY.snapshots,
}

const TRADES: RouteRule = {
  path: '/v1/trades',
  query: { symbol: 'BTC' },
  params: {
    symbol: symbolOrMarket,
    source: source(false, 'predmkt_a', 'predmkt_b', 'perpdex'),
    market_id: { kind: 'identifier' },
    token_id: { kind: 'identifier' },
    side: { kind: 'enum', values: ['buy', 'sell', 'all'], code: 'invalid_side', status: 400 },
    ...range,
    ...page(500, 10_000),
    order,
  },
  bound: {},
  kind: 'list',
  base: 50,
  perRow: 2,
  history: HISTORY.trades,
  notFound: true,
}

const FLOW: RouteRule = {
  path: '/v1/flow',
  query: { symbol: 'BTC', interval: '1h' },
  params: {
    symbol,
    interval: interval(true, '5m', '15m', '1h', '4h', '24h'),
    ...range,
    ...page(500, 5_000),
    order,
  },
  bound: {},
  kind: 'list',
  base: 50,
  perRow: 3,
  history: HISTORY.flow,
}

const OPEN_INTEREST: RouteRule = {
  path: '/v1/open-interest',
  query: { symbol: 'BTC' },
  params: {
    symbol: symbolOrMarket,
    source: source(false, 'cexa_futures', 'perpdex', 'predmkt_b'),
    interval: interval(false, '5m', '15m', '1h', '4h', '1d', '24h'),
    ...range,
    ...page(100, 1_000),
    order,
  },
  bound: {},
  kind: 'list',
  base: 50,
  perRow: 3,
  history: HISTORY.open_interest,
  notFound: true,
}

const LIQUIDATIONS: RouteRule = {
  path: '/v1/liquidations',
  query: { symbol: 'BTC' },
  params: {
    symbol,
    ...range,
    side: { kind: 'enum', values: ['long', 'short', 'all'], code: 'invalid_side', status: 400 },
    min_usd: { kind: 'number', min: 0 },
    ...page(100, 1_000),
    order,
  },
  bound: {},
  kind: 'list',
  base: 25,
  perRow: 2,
  history: HISTORY.liquidations,
}

const FUNDING: RouteRule = {
  path: '/v1/funding',
  query: { symbol: 'BTC' },
  params: {
    symbol,
    source: source(false, 'cexa_futures', 'perpdex'),
    ...range,
    ...page(100, 1_000),
    order,
  },
  bound: {},
  kind: 'list',
  base: 50,
  perRow: 3,
  history: HISTORY.funding,
}

const TICKER_ENDPOINT: RouteRule = {
  path: '/v1/ticker',
  query: { symbol: 'BTC' },
  params: {
    symbol,
    source: source(false, 'cexa', 'cexa_futures'),
    ...range,
    ...page(60, 3_600),
    order,
  },
  bound: {},
  kind: 'list',
  base: 50,
  perRow: 5,
  history: HISTORY.ticker,
  minPlan: 'developer',
}

const MARKETS: RouteRule = {
  path: '/v1/markets',
  query: {},
  params: {
    source: source(false, 'predmkt_a', 'predmkt_b', 'perpdex'),
    symbol: { kind: 'symbol', required: false },
    market_type: marketType,
    active: { kind: 'boolean' },
    status: {
      kind: 'enum',
      values: ['upcoming', 'open', 'closed', 'resolved'],
      code: 'invalid_param',
      status: 422,
    },
    ...page(50, 500),
    order,
  },
  bound: {},
  kind: 'list',
  base: 25,
  perRow: 0,
}

const MARKET: RouteRule = {
  path: '/v1/markets/{identifier}',
  query: {},
  params: { source: source(false, 'predmkt_a', 'predmkt_b', 'perpdex') },
  bound: {},
  kind: 'object',
  base: 25,
  perRow: 0,
  notFound: true,
}

/** The same endpoint under another path: what the path fixes is no parameter any more. */
function alias(
  path: string,
  of: RouteRule,
  bound: Record<string, string>,
  changes: Partial<RouteRule> = {},
): RouteRule {
  const without = <T>(record: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !(name in bound)))
  return { ...of, ...changes, path, bound, params: without(of.params), query: without(of.query) }
}

const ofPath = (rule: RouteRule): RouteRule => {
  const { symbol: _inPath, ...params } = rule.params
  const { symbol: _given, ...query } = rule.query
  return { ...rule, params, query }
}

/** Prediction markets have no candles below five minutes. */
const marketBars = (rule: RouteRule): RouteRule => ({
  ...rule,
  params: { ...rule.params, interval: interval(false, '5m', '15m', '1h', '4h', '1d', '24h') },
})

const also = (rule: RouteRule, params: RouteRule['params']): RouteRule => ({
  ...rule,
  params: { ...rule.params, ...params },
})
const FOREIGN_NAMES: RouteRule['params'] = {
  start_time: { kind: 'time' },
  end_time: { kind: 'time' },
  offset: { kind: 'integer', min: 0, max: 0 },
  include_orderbook: { kind: 'boolean' },
}
const CONDITION_ID: RouteRule['params'] = { condition_id: { kind: 'identifier' } }
const SERIES: RouteRule['params'] = {
  series: { kind: 'enum', values: ['15m', 'hourly', 'daily'], code: 'invalid_param', status: 422 },
}

const A = { source: 'predmkt_a' }
const B = { source: 'predmkt_b' }
const P = { source: 'perpdex' }

export const UNIFIED: readonly RouteRule[] = [
  CANDLES,
  SNAPSHOTS,
  SNAPSHOTS_AT,
  TRADES,
  FLOW,
  OPEN_INTEREST,
  LIQUIDATIONS,
  FUNDING,
  TICKER_ENDPOINT,
  MARKETS,
  MARKET,
]

/** The 21 platform-scoped routes, in the order of the contract's table. */
export const SCOPED: readonly RouteRule[] = [
  alias('/v1/predmkt_a/markets', MARKETS, A),
  alias('/v1/predmkt_a/markets/{identifier}', MARKET, A),
  also(marketBars(alias('/v1/predmkt_a/candles', CANDLES, A)), CONDITION_ID),
  also(alias('/v1/predmkt_a/trades', TRADES, A), CONDITION_ID),
  also(
    alias('/v1/predmkt_a/orderbook', SNAPSHOTS, { ...A, include_orderbook: 'true' }, { perRow: 10 }),
    CONDITION_ID,
  ),
  also(alias('/v1/predmkt_a/snapshots', SNAPSHOTS, A), CONDITION_ID),
  also(alias('/v1/predmkt_a/snapshots/at', SNAPSHOTS_AT, A), CONDITION_ID),
  alias('/v1/predmkt_b', MARKETS, { ...B, active: 'true' }),
  alias('/v1/predmkt_b/markets', MARKETS, { ...B, active: 'true' }),
  also(ofPath(marketBars(alias('/v1/predmkt_b/{symbol}', CANDLES, B))), FOREIGN_NAMES),
  also(alias('/v1/predmkt_b/orderbook', SNAPSHOTS, { ...B, include_orderbook: 'true' }), SERIES),
  also(alias('/v1/predmkt_b/snapshots', SNAPSHOTS, B), SERIES),
  alias('/v1/predmkt_b/snapshots/at', SNAPSHOTS_AT, B),
  alias('/v1/perpdex', MARKETS, P),
  alias('/v1/perpdex/markets', MARKETS, P),
  also(ofPath(alias('/v1/perpdex/{symbol}', CANDLES, P)), FOREIGN_NAMES),
  alias('/v1/perpdex/trades', TRADES, P),
  alias('/v1/perpdex/funding', FUNDING, P),
  alias('/v1/perpdex/open-interest', OPEN_INTEREST, P),
  alias('/v1/perpdex/snapshots', SNAPSHOTS, P),
  alias('/v1/perpdex/snapshots/at', SNAPSHOTS_AT, P),
]

export const ROUTES: readonly RouteRule[] = [...UNIFIED, ...SCOPED]

/** The candle intervals that each source has. */
export const CANDLE_INTERVALS: Readonly<Record<string, readonly string[]>> = {
  cexa: ['1s', '1m', '5m', '15m', '1h', '4h', '1d', '24h'],
  cexa_spot: ['1s', '1m', '5m', '15m', '1h', '4h', '1d', '24h'],
  cexa_futures: ['1s', '1m', '5m', '15m', '1h', '4h', '1d', '24h'],
  perpdex: ['1s', '1m', '5m', '15m', '1h', '4h', '1d', '24h'],
  predmkt_a: ['5m', '15m', '1h', '4h', '1d', '24h'],
  predmkt_b: ['5m', '15m', '1h', '4h', '1d', '24h'],
  oracle: ['5m', '15m'],
}

/** The finest candle of each plan; coarser ones are open. */
export const PLAN_INTERVALS: Readonly<Record<Plan, readonly string[]>> = {
  free: ['15m', '1h', '4h', '1d', '24h'],
  developer: ['5m', '15m', '1h', '4h', '1d', '24h'],
  business: ['1s', '1m', '5m', '15m', '1h', '4h', '1d', '24h'],
}

export const ROW_CAP: Readonly<Record<Plan, number>> = { free: 100, developer: 1_000, business: 2_500 }

/** Exactly the fields of each row, in any order. */
const CANDLE_FIELDS =
  'timestamp symbol source interval open high low close volume num_trades taker_buy_ratio funding_rate open_interest closed'
const SNAPSHOT_FIELDS =
  'timestamp symbol source interval market_id best_bid best_ask mid_price spread imbalance'
export const FIELDS = {
  candle: CANDLE_FIELDS,
  predictionCandle: `${CANDLE_FIELDS} market_id market_slug token_id outcome question`,
  trade: 'timestamp symbol source trade_id price size side maker_taker market_id token_id outcome',
  flow: 'timestamp symbol source interval buy_volume sell_volume num_buys num_sells vwap_buy vwap_sell net_volume buy_ratio',
  openInterest: 'timestamp symbol source interval open_interest open_interest_usd',
  liquidation: 'timestamp symbol source side quantity price avg_price usd_value',
  funding: 'timestamp symbol source funding_rate next_funding_time',
  ticker: 'timestamp symbol source bid_price bid_size ask_price ask_size',
  market:
    'market_id source symbol slug ticker condition_id event_id question market_type start_time end_time active status winner resolved_at tokens strike reference_price_start reference_price_end volume liquidity open_interest created_at updated_at tags clob_token_up clob_token_down final_volume final_liquidity',
  snapshotA: `${SNAPSHOT_FIELDS} market_slug question market_type token_up token_down price_up price_down reference_price`,
  snapshotB: `${SNAPSHOT_FIELDS} yes_bid yes_ask no_bid no_ask last_price volume open_interest`,
  snapshotPerp: `${SNAPSHOT_FIELDS} bids asks`,
  meta: 'symbol source interval count returned has_more next_cursor clamped clamped_reason original_start effective_start ignored coverage',
} as const

/** The order of ties: rows of one instant are in this order of sources. */
export const SOURCE_ORDER = ['cexa', 'cexa_futures', 'perpdex', 'predmkt_a', 'predmkt_b', 'oracle']
