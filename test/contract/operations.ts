/** Every operation of the contract with its price, plan, history and parameters, typed in independently. */
import { SYMBOLS } from './tables.ts'

export interface ParamTable {
  required?: boolean
  type?: 'string' | 'integer' | 'number' | 'boolean'
  min?: number
  max?: number
  default?: string | number | boolean
  enum?: readonly string[]
  tier?: string
}

export interface OperationTable {
  credits: { base: number; row: number; other?: readonly number[]; orderbook?: number }
  tier: 'free' | 'pro' | 'business'
  /** Which column of the depth table, and what happens to an older range. */
  history?: { of: string; whenOlder: 'clamp' | 'refuse'; refusal: string }
  intervalGate?: string
  rateLimit?: string
  list?: boolean
  params: Readonly<Record<string, ParamTable>>
  body?: Readonly<Record<string, ParamTable>>
}

const symbol: ParamTable = { required: true, type: 'string', enum: SYMBOLS }
const symbolOrIdentifier: ParamTable = { required: true, type: 'string' }
const text: ParamTable = { type: 'string' }
const range = { start: text, end: text }
const order: ParamTable = { type: 'string', enum: ['asc', 'desc'] }
const page = (fallback: number, max: number) => ({
  limit: { type: 'integer', min: 1, max, default: fallback } as const,
  after: text,
})
const flag: ParamTable = { type: 'boolean', default: false }
const refuse = (of: string, refusal = 'tier_restricted') => ({ of, whenOlder: 'refuse', refusal }) as const

/** Candles of prediction markets. */
const marketBars: ParamTable = {
  type: 'string',
  default: '1h',
  enum: ['5m', '15m', '1h', '4h', '1d', '24h'],
}

/** Names of other services on the candles of one venue. */
const foreignNames: Record<string, ParamTable> = {
  start_time: text,
  end_time: text,
  offset: { type: 'integer', min: 0, max: 0 },
  include_orderbook: { type: 'boolean' },
}
const series: ParamTable = { type: 'string', enum: ['15m', 'hourly', 'daily'] }

const SNAPSHOT_SOURCES = ['predmkt_a', 'predmkt_b', 'perpdex', 'cexa']
const MARKET_TYPES = ['5m', '15m', '1h', '4h', '24h']

export const OPERATIONS: Readonly<Record<string, OperationTable>> = {
  'GET /v1/sources': {
    credits: { base: 25, row: 0 },
    tier: 'free',
    rateLimit: 'rate_limit_exceeded',
    params: {},
  },
  'GET /v1/symbols': { credits: { base: 0, row: 0 }, tier: 'free', params: {} },
  'GET /v1/candles': {
    credits: { base: 50, row: 3 },
    tier: 'free',
    history: { of: 'candles', whenOlder: 'clamp', refusal: 'tier_restricted' },
    intervalGate: 'interval',
    list: true,
    params: {
      symbol,
      interval: { type: 'string', default: '1h', enum: ['1s', '1m', '5m', '15m', '1h', '4h', '1d', '24h'] },
      source: {
        type: 'string',
        enum: ['cexa', 'cexa_spot', 'cexa_futures', 'perpdex', 'predmkt_a', 'predmkt_b', 'oracle'],
      },
      market_id: text,
      token_id: text,
      ...range,
      ...page(500, 10_000),
      order,
    },
  },
  'GET /v1/snapshots': {
    credits: { base: 50, row: 4, orderbook: 10 },
    tier: 'free',
    history: refuse('snapshots', 'plan_required'),
    list: true,
    params: {
      source: { required: true, type: 'string', enum: SNAPSHOT_SOURCES },
      symbol,
      market_id: text,
      market_type: { type: 'string', enum: MARKET_TYPES },
      include_orderbook: flag,
      include_diffs: flag,
      depth: { type: 'integer', min: 1, max: 50, default: 10 },
      interval: { type: 'string', enum: ['500ms', '1s', '5m', '15m', '1h', '4h', '24h'] },
      ...range,
      ...page(100, 1_000),
      order,
    },
  },
  'GET /v1/snapshots/at': {
    credits: { base: 50, row: 0 },
    tier: 'free',
    history: refuse('snapshots', 'plan_required'),
    params: {
      source: { required: true, type: 'string', enum: SNAPSHOT_SOURCES },
      symbol,
      // Needed unless `interval` is given.
      time: text,
      interval: { type: 'string', enum: MARKET_TYPES },
      market_id: text,
      include_orderbook: flag,
    },
  },
  'GET /v1/trades': {
    credits: { base: 50, row: 2 },
    tier: 'free',
    history: { of: 'trades', whenOlder: 'clamp', refusal: 'tier_restricted' },
    list: true,
    params: {
      symbol: symbolOrIdentifier,
      source: { type: 'string', enum: ['predmkt_a', 'predmkt_b', 'perpdex'] },
      market_id: text,
      token_id: text,
      side: { type: 'string', enum: ['buy', 'sell', 'all'] },
      ...range,
      ...page(500, 10_000),
      order,
    },
  },
  'GET /v1/flow': {
    credits: { base: 50, row: 3 },
    tier: 'free',
    history: refuse('flow'),
    list: true,
    params: {
      symbol,
      interval: { required: true, type: 'string', enum: ['5m', '15m', '1h', '4h', '24h'] },
      ...range,
      ...page(500, 5_000),
      order,
    },
  },
  'GET /v1/open-interest': {
    credits: { base: 50, row: 3 },
    tier: 'free',
    history: refuse('open_interest'),
    list: true,
    params: {
      symbol: symbolOrIdentifier,
      source: { type: 'string', enum: ['cexa_futures', 'perpdex', 'predmkt_b'] },
      interval: { type: 'string', default: '1h', enum: ['5m', '15m', '1h', '4h', '1d', '24h'] },
      ...range,
      ...page(100, 1_000),
      order,
    },
  },
  'GET /v1/liquidations': {
    credits: { base: 25, row: 2 },
    tier: 'free',
    history: refuse('liquidations'),
    list: true,
    params: {
      symbol,
      ...range,
      side: { type: 'string', default: 'all', enum: ['long', 'short', 'all'] },
      min_usd: { type: 'number', min: 0, max: 1_000_000_000_000, tier: 'business' },
      ...page(100, 1_000),
      order,
    },
  },
  'GET /v1/funding': {
    credits: { base: 50, row: 3 },
    tier: 'free',
    history: refuse('funding'),
    list: true,
    params: {
      symbol,
      source: { type: 'string', enum: ['cexa_futures', 'perpdex'] },
      ...range,
      ...page(100, 1_000),
      order,
    },
  },
  'GET /v1/ticker': {
    credits: { base: 50, row: 5 },
    tier: 'pro',
    history: refuse('trades'),
    list: true,
    params: {
      symbol,
      source: { type: 'string', enum: ['cexa', 'cexa_futures'] },
      ...range,
      ...page(60, 3_600),
      order,
    },
  },
  'GET /v1/markets': {
    credits: { base: 25, row: 0 },
    tier: 'free',
    list: true,
    params: {
      source: { type: 'string', enum: ['predmkt_a', 'predmkt_b', 'perpdex'] },
      symbol: { type: 'string', enum: SYMBOLS },
      market_type: { type: 'string', enum: MARKET_TYPES },
      active: { type: 'boolean' },
      status: { type: 'string', enum: ['upcoming', 'open', 'closed', 'resolved'] },
      ...page(50, 500),
      order,
    },
  },
  'GET /v1/markets/{identifier}': {
    credits: { base: 25, row: 0 },
    tier: 'free',
    params: {
      identifier: { required: true, type: 'string' },
      source: { type: 'string', enum: ['predmkt_a', 'predmkt_b', 'perpdex'] },
    },
  },
  // Added: listings under the names of other services.
  'GET /v1/cexa/spot': { credits: { base: 25, row: 0 }, tier: 'free', list: true, params: {} },
  'GET /v1/cexa/futures': { credits: { base: 25, row: 0 }, tier: 'free', list: true, params: {} },
  'GET /v1/limits': { credits: { base: 0, row: 0 }, tier: 'free', params: {} },
  'GET /v1/status': {
    credits: { base: 0, row: 0 },
    tier: 'free',
    params: { limit: { type: 'integer', min: 1, max: 100 } },
  },

  'GET /v1/transactions/{tx_id}': {
    credits: { base: 10, row: 0, other: [5] },
    tier: 'pro',
    params: { tx_id: { required: true, type: 'string' } },
  },
  'POST /v1/transactions/submit': {
    credits: { base: 10, row: 0, other: [5] },
    tier: 'pro',
    params: {},
    body: {
      transaction: { required: true },
      allow_orphan: { type: 'boolean' },
      replace_by_fee: { type: 'boolean' },
      wait_for_mempool: { type: 'boolean' },
      wait_timeout_seconds: { type: 'number', min: 0.5, max: 30, default: 5 },
    },
  },
  'GET /v1/fees/estimate': {
    credits: { base: 1, row: 0 },
    tier: 'free',
    params: { experimental: flag },
  },
  'GET /v1/addresses/{address}/transactions': {
    credits: { base: 10, row: 1 },
    tier: 'pro',
    list: true,
    params: {
      address: { required: true, type: 'string' },
      limit: { type: 'integer', min: 1, max: 200, default: 50 },
      cursor: text,
    },
  },
  'GET /v1/addresses/{address}/activity': {
    credits: { base: 10, row: 1, other: [5] },
    tier: 'pro',
    list: true,
    params: {
      address: { required: true, type: 'string' },
      limit: { type: 'integer', min: 1, max: 200, default: 50 },
    },
  },
  'GET /v1/addresses/{address}/balance': {
    credits: { base: 10, row: 0, other: [5] },
    tier: 'pro',
    params: { address: { required: true, type: 'string' }, at: text },
  },
  'GET /v1/addresses/{address}/utxos': {
    credits: { base: 10, row: 1, other: [5] },
    tier: 'pro',
    list: true,
    params: {
      address: { required: true, type: 'string' },
      limit: { type: 'integer', min: 1, max: 1_000, default: 100 },
      cursor: text,
    },
  },
  'GET /v1/addresses/{address}/covenants': {
    credits: { base: 10, row: 1 },
    tier: 'pro',
    list: true,
    params: {
      address: { required: true, type: 'string' },
      limit: { type: 'integer', min: 1, max: 200, default: 50 },
      cursor: text,
    },
  },
  'GET /v1/covenants/{covenant_id}': {
    credits: { base: 10, row: 1 },
    tier: 'pro',
    list: true,
    params: {
      covenant_id: { required: true, type: 'string' },
      limit: { type: 'integer', min: 1, max: 200, default: 50 },
      cursor: text,
    },
  },
  'GET /v1/covenants/{covenant_id}/utxos': {
    credits: { base: 10, row: 1 },
    tier: 'pro',
    list: true,
    params: {
      covenant_id: { required: true, type: 'string' },
      limit: { type: 'integer', min: 1, max: 200, default: 50 },
      cursor: text,
    },
  },
  'GET /v1/tokens': {
    credits: { base: 10, row: 1 },
    tier: 'pro',
    list: true,
    params: { limit: { type: 'integer', min: 1, max: 200, default: 50 }, cursor: text },
  },
  'GET /v1/tokens/{token}': {
    credits: { base: 10, row: 0 },
    tier: 'pro',
    params: { token: { required: true, type: 'string' } },
  },
  'GET /v1/tokens/{token}/holders': {
    credits: { base: 10, row: 1 },
    tier: 'pro',
    list: true,
    params: {
      token: { required: true, type: 'string' },
      limit: { type: 'integer', min: 1, max: 200, default: 50 },
      cursor: text,
    },
  },
  'POST /rpc': { credits: { base: 0, row: 0, other: [1, 5] }, tier: 'free', params: {} },
  'GET /v1/webhooks': {
    credits: { base: 0, row: 0 },
    tier: 'pro',
    list: true,
    // The contract names no paging here; with all their addresses they are too much for one answer.
    params: {
      limit: { type: 'integer', min: 1, max: 250, default: 250 },
      cursor: { type: 'string' },
    },
  },
  'POST /v1/webhooks': { credits: { base: 10, row: 0 }, tier: 'pro', params: {} },
  'GET /v1/webhooks/{id}': {
    credits: { base: 0, row: 0 },
    tier: 'pro',
    params: { id: { required: true, type: 'string' } },
  },
  'DELETE /v1/webhooks/{id}': {
    credits: { base: 0, row: 0 },
    tier: 'pro',
    params: { id: { required: true, type: 'string' } },
  },
  'PATCH /v1/webhooks/{id}': {
    credits: { base: 0, row: 0 },
    tier: 'pro',
    params: { id: { required: true, type: 'string' } },
  },
  'GET /v1/webhooks/{id}/deliveries': {
    credits: { base: 0, row: 0 },
    tier: 'pro',
    list: true,
    // The contract names no paging here; a log needs it.
    params: {
      id: { required: true, type: 'string' },
      limit: { type: 'integer', min: 1, max: 200, default: 50 },
      cursor: { type: 'string' },
    },
  },
  'POST /v1/webhooks/{id}/test': {
    credits: { base: 0, row: 0 },
    tier: 'pro',
    params: { id: { required: true, type: 'string' } },
  },
  'POST /v1/webhooks/{id}/rotate': {
    credits: { base: 0, row: 0 },
    tier: 'pro',
    params: { id: { required: true, type: 'string' } },
  },
  'POST /v1/webhooks/{id}/replay': {
    credits: { base: 0, row: 0 },
    tier: 'pro',
    params: { id: { required: true, type: 'string' } },
  },
}

/** Platform-scoped routes: which operation they are, and what the path fixes. */
export const ALIASES: Readonly<
  Record<
    string,
    {
      of: string
      bound: Record<string, string | boolean>
      row?: number
      /** Parameters that this path reads in another way. */
      params?: Record<string, ParamTable>
    }
  >
> = {
  'GET /v1/predmkt_a/markets': { of: 'GET /v1/markets', bound: { source: 'predmkt_a' } },
  'GET /v1/predmkt_a/markets/{identifier}': {
    of: 'GET /v1/markets/{identifier}',
    bound: { source: 'predmkt_a' },
  },
  'GET /v1/predmkt_a/candles': {
    of: 'GET /v1/candles',
    bound: { source: 'predmkt_a' },
    params: { interval: marketBars, condition_id: text },
  },
  'GET /v1/predmkt_a/trades': {
    of: 'GET /v1/trades',
    bound: { source: 'predmkt_a' },
    params: { condition_id: text },
  },
  'GET /v1/predmkt_a/orderbook': {
    of: 'GET /v1/snapshots',
    bound: { source: 'predmkt_a', include_orderbook: true },
    row: 10,
    params: { condition_id: text },
  },
  'GET /v1/predmkt_a/snapshots': {
    of: 'GET /v1/snapshots',
    bound: { source: 'predmkt_a' },
    params: { condition_id: text },
  },
  'GET /v1/predmkt_a/snapshots/at': {
    of: 'GET /v1/snapshots/at',
    bound: { source: 'predmkt_a' },
    params: { condition_id: text },
  },
  'GET /v1/predmkt_b': { of: 'GET /v1/markets', bound: { source: 'predmkt_b', active: true } },
  'GET /v1/predmkt_b/markets': { of: 'GET /v1/markets', bound: { source: 'predmkt_b', active: true } },
  'GET /v1/predmkt_b/{symbol}': {
    of: 'GET /v1/candles',
    bound: { source: 'predmkt_b' },
    params: { symbol: symbolOrIdentifier, interval: marketBars, ...foreignNames },
  },
  'GET /v1/predmkt_b/orderbook': {
    of: 'GET /v1/snapshots',
    bound: { source: 'predmkt_b', include_orderbook: true },
    row: 4,
    params: { series },
  },
  'GET /v1/predmkt_b/snapshots': {
    of: 'GET /v1/snapshots',
    bound: { source: 'predmkt_b' },
    params: { series },
  },
  'GET /v1/predmkt_b/snapshots/at': { of: 'GET /v1/snapshots/at', bound: { source: 'predmkt_b' } },
  'GET /v1/perpdex': { of: 'GET /v1/markets', bound: { source: 'perpdex' } },
  'GET /v1/perpdex/markets': { of: 'GET /v1/markets', bound: { source: 'perpdex' } },
  'GET /v1/perpdex/{symbol}': {
    of: 'GET /v1/candles',
    bound: { source: 'perpdex' },
    params: foreignNames,
  },
  'GET /v1/perpdex/trades': { of: 'GET /v1/trades', bound: { source: 'perpdex' } },
  'GET /v1/perpdex/funding': { of: 'GET /v1/funding', bound: { source: 'perpdex' } },
  'GET /v1/perpdex/open-interest': { of: 'GET /v1/open-interest', bound: { source: 'perpdex' } },
  'GET /v1/perpdex/snapshots': { of: 'GET /v1/snapshots', bound: { source: 'perpdex' } },
  'GET /v1/perpdex/snapshots/at': { of: 'GET /v1/snapshots/at', bound: { source: 'perpdex' } },
}

/** Open on purpose: no key, no price. */
export const OPEN_OPERATIONS = [
  'GET /health',
  'GET /v1/health',
  'GET /ready',
  'GET /openapi.json',
  'GET /asyncapi.json',
]

/** Part of the contract, not declared yet. What appears must leave this list; nothing is ever added. */
export const EXPECTED_LATER: string[] = []
