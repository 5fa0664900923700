/** Talks to the real venue; run it alone: `node --test src/venues/binance-spot/venue.live.test.ts`. */
import { proveLive } from '../../../test/venues/live-proof.ts'
import { createBinanceSpot } from './venue.ts'

proveLive(createBinanceSpot, {
  listenMs: 20_000,
  history: { topic: 'candles', symbol: 'BTC', interval: '1m', atLeast: 50 },
  channels: [
    { topic: 'aggregate_trades', symbol: 'BTC' },
    { topic: 'candles', symbol: 'BTC', interval: '1s' },
    { topic: 'best_bid_ask', symbol: 'BTC' },
  ],
})
