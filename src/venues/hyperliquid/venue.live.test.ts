/** Talks to the real venue; run it alone: `node --test src/venues/hyperliquid/venue.live.test.ts`. */
import { proveLive } from '../../../test/venues/live-proof.ts'
import { createHyperliquid } from './venue.ts'

proveLive(createHyperliquid, {
  listenMs: 70_000,
  history: { topic: 'candles', symbol: 'BTC', interval: '1m', atLeast: 50 },
  channels: [
    { topic: 'trades', symbol: 'BTC' },
    { topic: 'book', symbol: 'BTC' },
    { topic: 'candles', symbol: 'BTC', interval: '1m' },
    { topic: 'open_interest', symbol: 'BTC' },
    { topic: 'funding', symbol: 'BTC' },
  ],
})
