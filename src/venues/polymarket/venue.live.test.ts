/** Talks to the real venue; run it alone: `node --test src/venues/polymarket/venue.live.test.ts`. */
import { proveLive } from '../../../test/venues/live-proof.ts'
import { createPolymarket } from './venue.ts'

proveLive(createPolymarket, {
  listenMs: 120_000,
  history: { topic: 'markets', symbol: 'BTC', atLeast: 12 },
  unwitnessed: ['markets', 'reference_price'],
  channels: [
    { topic: 'markets', symbol: 'BTC' },
    { topic: 'book', symbol: 'BTC' },
    { topic: 'trades', symbol: 'BTC' },
    { topic: 'reference_price', symbol: 'BTC' },
  ],
})
