/**
 * The contract as the specification's tables have it, typed in independently. Nothing here comes from `src/`: a
 * wrong declaration cannot agree with it.
 */
export const CONTRACT_VERSION = '1.6.0'

export const SYMBOLS = ['BTC', 'ETH', 'SOL', 'XRP']
export const CATALOG_SOURCES = ['cexa_spot', 'cexa_futures', 'perpdex', 'predmkt_a', 'predmkt_b', 'oracle']

export interface PlanTable {
  name: string
  tier: string
  creditsPerMonth: number
  requestsPerSecond: number
  requestsPerMinute: number
  maxRowsPerRequest: number
  historyDays: Record<string, number | null>
  finestCandle: string
  heavyCallsInFlight: number
  streamConnections: number
  streamAddresses: number
  webhookSubscriptions: number
  webhookAddresses: number
}

/** Six months of flow are at most 184 days. `null` is the full history. */
export const PLANS: readonly PlanTable[] = [
  {
    name: 'free',
    tier: 'free',
    creditsPerMonth: 1_000_000,
    requestsPerSecond: 5,
    requestsPerMinute: 300,
    maxRowsPerRequest: 100,
    historyDays: {
      candles: 7,
      snapshots: 7,
      trades: 7,
      open_interest: 7,
      liquidations: 7,
      funding: 7,
      flow: 7,
    },
    finestCandle: '15m',
    heavyCallsInFlight: 2,
    streamConnections: 2,
    streamAddresses: 10,
    webhookSubscriptions: 0,
    webhookAddresses: 0,
  },
  {
    name: 'developer',
    tier: 'pro',
    creditsPerMonth: 10_000_000,
    requestsPerSecond: 25,
    requestsPerMinute: 1_500,
    maxRowsPerRequest: 1_000,
    historyDays: {
      candles: 14,
      snapshots: 30,
      trades: 14,
      open_interest: 14,
      liquidations: 14,
      funding: 14,
      flow: 184,
    },
    finestCandle: '5m',
    heavyCallsInFlight: 5,
    streamConnections: 10,
    streamAddresses: 1_000,
    webhookSubscriptions: 25,
    webhookAddresses: 1_000,
  },
  {
    name: 'business',
    tier: 'business',
    creditsPerMonth: 50_000_000,
    requestsPerSecond: 50,
    requestsPerMinute: 3_000,
    maxRowsPerRequest: 2_500,
    historyDays: {
      candles: 31,
      snapshots: null,
      trades: 31,
      open_interest: 31,
      liquidations: 31,
      funding: 31,
      flow: null,
    },
    finestCandle: '1s',
    heavyCallsInFlight: 10,
    streamConnections: 50,
    streamAddresses: 10_000,
    webhookSubscriptions: 250,
    webhookAddresses: 10_000,
  },
]

/** Code and status of every error; `idempotency_conflict` has two. */
export const ERROR_CODES: readonly (readonly [number, string])[] = [
  [400, 'invalid_symbol'],
  [400, 'invalid_source'],
  [400, 'invalid_interval'],
  [400, 'invalid_side'],
  [400, 'invalid_time_range'],
  [401, 'unauthorized'],
  [402, 'credits_exhausted'],
  [402, 'plan_required'],
  [403, 'tier_restricted'],
  [404, 'not_found'],
  [404, 'market_not_found'],
  [404, 'transaction_not_found'],
  [405, 'method_not_allowed'],
  [409, 'idempotency_conflict'],
  [413, 'payload_too_large'],
  [415, 'unsupported_media_type'],
  // Added: a plain request to the stream's path.
  [426, 'upgrade_required'],
  [422, 'idempotency_conflict'],
  [422, 'invalid_param'],
  [422, 'transaction_rejected'],
  [429, 'rate_limited'],
  [429, 'rate_limit_exceeded'],
  [500, 'internal_error'],
  [501, 'data_not_available'],
  [502, 'upstream_error'],
  [503, 'upstream_unavailable'],
  [503, 'environment_unavailable'],
  [504, 'upstream_timeout'],
]

export const METER_HEADERS = [
  'X-Request-Id',
  'X-Plan',
  'X-Credits-Used',
  'X-Credits-Charged',
  'X-Credits-Remaining',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
]
export const LIST_HEADERS = [
  'X-Rows-Returned',
  'X-Rows-Capped',
  'X-Next-Cursor',
  'X-Coverage-Complete',
  'X-Clamped',
  'Link',
  'ETag',
]

const EXCHANGE_BARS = ['1s', '1m', '5m', '15m', '1h', '4h', '1d']
const MARKET_BARS = ['5m', '15m', '1h', '4h', '1d']
/** Candle intervals that each source has. */
export const CANDLE_INTERVALS: Record<string, string[]> = {
  cexa: EXCHANGE_BARS,
  cexa_futures: EXCHANGE_BARS,
  perpdex: EXCHANGE_BARS,
  predmkt_a: MARKET_BARS,
  predmkt_b: MARKET_BARS,
  oracle: ['5m', '15m'],
}

/** On success only. */
export const CREDITS_PER_DELIVERY = 1
