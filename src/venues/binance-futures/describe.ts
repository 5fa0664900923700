/** Binance USD-M futures: topics, limits and hosts. Source: the venue's public documentation of 2026. */
import type { VenueDescription } from '../venue.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** The venue publishes no one-second candles per symbol; they are built from aggregate trades. */
const CANDLE_INTERVALS = ['1m', '5m', '15m', '1h', '4h', '1d'] as const
const OPEN_INTEREST_INTERVALS = ['5m', '15m', '1h', '4h', '1d'] as const

export const binanceFuturesDescription: VenueDescription = {
  name: 'binance-futures',
  source: 'cexa_futures',
  symbols: { BTC: 'BTCUSDT', ETH: 'ETHUSDT', SOL: 'SOLUSDT', XRP: 'XRPUSDT' },
  live: {
    aggregate_trades: { via: 'stream', maxSilenceMs: 60_000 },
    // Sent only when something changed.
    candles: { via: 'stream', intervals: ['1m'], maxSilenceMs: 60_000 },
    liquidations: { via: 'stream', maxSilenceMs: null },
    best_bid_ask: { via: 'stream', maxSilenceMs: 10_000 },
    funding: { via: 'poll', everyMs: MINUTE_MS, maxSilenceMs: 5 * MINUTE_MS },
  },
  history: {
    candles: { intervals: CANDLE_INTERVALS, maxAgeMs: null },
    aggregate_trades: { maxAgeMs: DAY_MS },
    funding: { maxAgeMs: null },
    // Documented as "the last month"; how long that is has to be found out by trying.
    open_interest: { intervals: OPEN_INTEREST_INTERVALS, maxAgeMs: 31 * DAY_MS },
  },
  notProvided: {
    liquidations: 'closed by the exchange: neither an answer nor an archive has them',
    best_bid_ask: 'past best bids and asks are not published',
  },
  budgets: {
    weight: { limit: 2_400, windowMs: MINUTE_MS, usedHeader: 'x-mbx-used-weight-1m' },
    funding: { limit: 500, windowMs: 5 * MINUTE_MS },
    statistics: { limit: 1_000, windowMs: 5 * MINUTE_MS },
  },
  hosts: { rest: 'https://fapi.binance.com', stream: 'wss://fstream.binance.com' },
  renewAfterMs: 23 * HOUR_MS,
}
