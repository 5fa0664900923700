/** Talks to the real venue; run it alone: `node --test src/venues/kalshi/venue.live.test.ts`. */
import { proveLive } from '../../../test/venues/live-proof.ts'
import { createKalshi } from './venue.ts'

// Without credentials, books, trades and figures are requested in rounds of about a minute.
proveLive(createKalshi, {
  listenMs: 180_000,
  history: { topic: 'markets', symbol: 'BTC', atLeast: 4 },
  unwitnessed: ['markets'],
  channels: [
    { topic: 'markets', symbol: 'BTC' },
    { topic: 'book', symbol: 'BTC' },
    { topic: 'trades', symbol: 'BTC' },
    { topic: 'market_ticker', symbol: 'BTC' },
    { topic: 'open_interest', symbol: 'BTC' },
  ],
})
