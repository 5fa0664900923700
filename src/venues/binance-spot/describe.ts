/** Binance spot: what it has and how it wants to be asked. Sources: its public documentation of 2026. */
import { CANDLE_INTERVALS } from '../../core/interval.ts'
import type { VenueDescription } from '../venue.ts'

const HOUR_MS = 3_600_000

export const binanceSpotDescription: VenueDescription = {
  name: 'binance-spot',
  source: 'cexa',
  symbols: { BTC: 'BTCUSDT', ETH: 'ETHUSDT', SOL: 'SOLUSDT', XRP: 'XRPUSDT' },
  live: {
    aggregate_trades: { via: 'stream', maxSilenceMs: 30_000 },
    trades: { via: 'stream', maxSilenceMs: 30_000 },
    // Seconds without a trade are published too; longer bars only while something changes.
    klines: {
      via: 'stream',
      intervals: CANDLE_INTERVALS,
      maxSilenceMs: 30_000,
      maxSilenceByInterval: { '1s': 5_000 },
    },
    best_bid_ask: { via: 'stream', maxSilenceMs: 30_000 },
    book_diff: { via: 'stream', maxSilenceMs: 30_000 },
  },
  history: {
    klines: { intervals: CANDLE_INTERVALS, maxAgeMs: null, pageRows: 1_000 },
    aggregate_trades: { maxAgeMs: null, pageRows: 1_000 },
  },
  notProvided: {
    trades: 'single trades are only listed by id; aggregate trades carry the same volume',
    best_bid_ask: 'past best bids and asks are not published',
    book_diff: 'past books are not published',
  },
  budgets: { weight: { limit: 6_000, windowMs: 60_000, usedHeader: 'x-mbx-used-weight-1m' } },
  hosts: { rest: 'https://data-api.binance.vision', stream: 'wss://data-stream.binance.vision' },
  renewAfterMs: 23 * HOUR_MS,
}
