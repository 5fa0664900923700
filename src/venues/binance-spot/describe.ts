/** Binance spot: topics, limits and hosts. Source: the venue's public documentation of 2026. */
import { CANDLE_INTERVALS } from '../../core/interval.ts'
import type { VenueDescription } from '../venue.ts'

const HOUR_MS = 3_600_000

export const binanceSpotDescription: VenueDescription = {
  name: 'binance-spot',
  source: 'cexa',
  symbols: { BTC: 'BTCUSDT', ETH: 'ETHUSDT', SOL: 'SOLUSDT', XRP: 'XRPUSDT' },
  live: {
    aggregate_trades: { via: 'stream', maxSilenceMs: 30_000 },
    // Seconds without a trade are published as well; minutes only while something changes.
    candles: {
      via: 'stream',
      intervals: ['1s', '1m'],
      maxSilenceMs: 30_000,
      maxSilenceByInterval: { '1s': 5_000 },
    },
    best_bid_ask: { via: 'stream', maxSilenceMs: 10_000 },
  },
  history: {
    candles: { intervals: CANDLE_INTERVALS, maxAgeMs: null },
    aggregate_trades: { maxAgeMs: null },
  },
  notProvided: {
    best_bid_ask: 'past best bids and asks are not published',
  },
  budgets: { weight: { limit: 6_000, windowMs: 60_000, usedHeader: 'x-mbx-used-weight-1m' } },
  hosts: { rest: 'https://data-api.binance.vision', stream: 'wss://data-stream.binance.vision' },
  renewAfterMs: 23 * HOUR_MS,
}
