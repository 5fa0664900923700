/** Talks to the real venue; run by hand: `node --test src/venues/hyperliquid/venue.live.test.ts`. */
import { proveLive } from '../../../test/venues/live-proof.ts'
import { createHyperliquid } from './venue.ts'

proveLive(createHyperliquid, {
  listenMs: 70_000,
  history: { dataset: 'klines', symbol: 'BTC', interval: '1m', atLeast: 50 },
  channels: [
    { dataset: 'trades', symbol: 'BTC' },
    { dataset: 'book', symbol: 'BTC' },
    { dataset: 'book_fast', symbol: 'BTC' },
    { dataset: 'klines', symbol: 'BTC', interval: '1m' },
    { dataset: 'mark', symbol: 'BTC' },
    { dataset: 'open_interest', symbol: 'BTC' },
    { dataset: 'funding', symbol: 'BTC' },
  ],
})
