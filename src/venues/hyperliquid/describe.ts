/** Hyperliquid perpetuals: what it has and how it wants to be asked. Sources: its documentation and wire profiles of 2026. */
import type { VenueDescription } from '../venue.ts'

const MINUTE_MS = 60_000

const KLINE_INTERVALS = ['1m', '5m', '15m', '1h', '4h', '1d'] as const

export const hyperliquidDescription: VenueDescription = {
  name: 'hyperliquid',
  source: 'perpdex',
  // Case matters: a coin it does not know closes the whole socket without a word.
  symbols: { BTC: 'BTC', ETH: 'ETH', SOL: 'SOL', XRP: 'XRP' },
  live: {
    trades: { via: 'stream', maxSilenceMs: 2 * MINUTE_MS },
    klines: { via: 'stream', intervals: KLINE_INTERVALS, maxSilenceMs: 2 * MINUTE_MS },
    // 20 levels about every 5.4 s; the fast one, which no plan records, has 5 about every 0.54 s. Both repeat an unchanged
    // book.
    book: { via: 'stream', maxSilenceMs: 20_000 },
    book_fast: { via: 'stream', maxSilenceMs: 10_000 },
    best_bid_ask: { via: 'stream', maxSilenceMs: MINUTE_MS },
    // Both come from one message, about once a second whether or not anything changed.
    mark: { via: 'stream', maxSilenceMs: 10_000 },
    open_interest: { via: 'stream', maxSilenceMs: 10_000 },
    funding: { via: 'poll', everyMs: 2 * MINUTE_MS, maxSilenceMs: 10 * MINUTE_MS },
  },
  history: {
    klines: { intervals: KLINE_INTERVALS, maxAgeMs: null, maxRows: 5_000, pageRows: 5_000 },
    funding: { maxAgeMs: null, pageRows: 500 },
  },
  notProvided: {
    trades: 'only about ten recent trades can be asked for',
    book: 'past books are not published',
    book_fast: 'past books are not published',
    best_bid_ask: 'past best bids and asks are not published',
    mark: 'past running funding estimates are not published',
    open_interest: 'past open interest is not published',
  },
  budgets: { weight: { limit: 1_200, windowMs: MINUTE_MS } },
  hosts: { rest: 'https://api.hyperliquid.xyz', stream: 'wss://api.hyperliquid.xyz' },
  renewAfterMs: null,
}
