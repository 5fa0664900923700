/** What the toy of the recipe has. This folder is copied into the venues by the test that follows the recipe. */
import type { VenueDescription } from '../../../src/venues/venue.ts'

export const toyDescription: VenueDescription = {
  name: 'toy',
  source: 'cexa',
  symbols: { BTC: 'XBT' },
  live: {
    trades: { via: 'stream', maxSilenceMs: 60_000 },
    klines: { via: 'stream', intervals: ['1m'], maxSilenceMs: 60_000 },
  },
  history: { klines: { intervals: ['1m'], maxAgeMs: null, pageRows: 5_000 } },
  notProvided: { trades: 'the toy remembers nothing' },
  budgets: { weight: { limit: 100, windowMs: 60_000 } },
  hosts: { rest: 'https://toy.example', stream: 'wss://toy.example' },
  renewAfterMs: null,
}
