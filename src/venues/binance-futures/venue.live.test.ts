/** Talks to the real venue; run by hand: `node --test src/venues/binance-futures/venue.live.test.ts`. */
import { proveLive } from '../../../test/venues/live-proof.ts'
import { createBinanceFutures } from './venue.ts'

proveLive(createBinanceFutures, {
  listenMs: 70_000,
  history: { dataset: 'klines', symbol: 'BTC', interval: '1m', atLeast: 50 },
  channels: [
    { dataset: 'aggregate_trades', symbol: 'BTC' },
    { dataset: 'klines', symbol: 'BTC', interval: '1m' },
    { dataset: 'mark', symbol: 'BTC' },
    { dataset: 'liquidations', symbol: 'BTC' },
    { dataset: 'best_bid_ask', symbol: 'BTC' },
    { dataset: 'open_interest', symbol: 'BTC' },
    { dataset: 'funding', symbol: 'BTC' },
  ],
})
