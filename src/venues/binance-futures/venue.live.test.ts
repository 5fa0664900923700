/** Talks to the real venue; run it alone: `node --test src/venues/binance-futures/venue.live.test.ts`. */
import { proveLive } from '../../../test/venues/live-proof.ts'
import { createBinanceFutures } from './venue.ts'

proveLive(createBinanceFutures, {
  listenMs: 70_000,
  history: { topic: 'candles', symbol: 'BTC', interval: '1m', atLeast: 50 },
  channels: [
    { topic: 'aggregate_trades', symbol: 'BTC' },
    { topic: 'candles', symbol: 'BTC', interval: '1m' },
    { topic: 'liquidations', symbol: 'BTC' },
    { topic: 'best_bid_ask', symbol: 'BTC' },
    { topic: 'funding', symbol: 'BTC' },
  ],
})
