/** What the toy of the recipe has. This folder is copied into the venues by the test that follows the recipe. */
import type { VenueDescription } from '../../../src/venues/venue.ts'

export const toyDescription: VenueDescription = {
  name: 'toy',
  source: 'cexa',
  symbols: { BTC: 'XBT' },
  live: {
    trades: { via: 'stream', maxSilenceMs: 60_000 },
    candles: { via: 'stream', intervals: ['1m'], maxSilenceMs: 60_000 },
  },
  history: { candles: { intervals: ['1m'], maxAgeMs: null } },
  notProvided: { trades: 'the toy remembers nothing' },
  budgets: { weight: { limit: 100, windowMs: 60_000 } },
  hosts: { rest: 'https://toy.example', stream: 'wss://toy.example' },
  renewAfterMs: null,
}
