/** Talks to the real venue; run by hand: `node --test src/venues/polymarket/venue.live.test.ts`. */
import { proveLive } from '../../../test/venues/live-proof.ts'
import { createPolymarket } from './venue.ts'

proveLive(createPolymarket, {
  listenMs: 120_000,
  history: { dataset: 'markets', symbol: 'BTC', atLeast: 12 },
  unwitnessed: ['markets', 'reference_price'],
  channels: [
    { dataset: 'markets', symbol: 'BTC' },
    { dataset: 'book', symbol: 'BTC' },
    { dataset: 'trades', symbol: 'BTC' },
    { dataset: 'reference_price', symbol: 'BTC' },
  ],
})
