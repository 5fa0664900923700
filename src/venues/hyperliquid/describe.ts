/** Hyperliquid perpetuals: topics, limits and hosts. Source: the venue's documentation and wire profiles of 2026. */
import type { VenueDescription } from '../venue.ts'

const MINUTE_MS = 60_000

const CANDLE_INTERVALS = ['1m', '5m', '15m', '1h', '4h', '1d'] as const

export const hyperliquidDescription: VenueDescription = {
  name: 'hyperliquid',
  source: 'perpdex',
  // Case matters: an unknown coin closes the whole socket without a message.
  symbols: { BTC: 'BTC', ETH: 'ETH', SOL: 'SOL', XRP: 'XRP' },
  live: {
    trades: { via: 'stream', maxSilenceMs: 2 * MINUTE_MS },
    candles: { via: 'stream', intervals: ['1m'], maxSilenceMs: 2 * MINUTE_MS },
    // 20 levels about every 5.4 s, changed or not. After two of them the last book is too old to be sampled.
    book: { via: 'stream', maxSilenceMs: 12_000 },
    // About once a second, whether or not anything changed.
    open_interest: { via: 'stream', maxSilenceMs: 10_000 },
    funding: { via: 'poll', everyMs: 2 * MINUTE_MS, maxSilenceMs: 10 * MINUTE_MS },
  },
  history: {
    candles: { intervals: CANDLE_INTERVALS, maxAgeMs: null },
    funding: { maxAgeMs: null },
  },
  notProvided: {
    trades: 'only about ten recent trades can be asked for',
    book: 'past books are not published',
    open_interest: 'past open interest is not published',
  },
  budgets: { weight: { limit: 1_200, windowMs: MINUTE_MS } },
  hosts: { rest: 'https://api.hyperliquid.xyz', stream: 'wss://api.hyperliquid.xyz' },
  renewAfterMs: null,
}
