/** Paths of older versions, and what to call instead. */
export const WITHDRAWN: Readonly<Record<string, string>> = {
  '/v1/orderbook':
    'Use GET /v1/snapshots with include_orderbook=true, GET /v1/predmkt_a/orderbook, GET /v1/predmkt_b/orderbook or GET /v1/perpdex/snapshots.',
  '/v1/oracle': 'Use GET /v1/candles with source=oracle.',
  '/v1/derived': 'Use GET /v1/candles, GET /v1/funding, GET /v1/open-interest and GET /v1/flow.',
}
