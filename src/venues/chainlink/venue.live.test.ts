/** Talks to the real venue; run it alone: `node --test src/venues/chainlink/venue.live.test.ts`. */
import { proveLive } from '../../../test/venues/live-proof.ts'
import { createChainlink } from './venue.ts'

proveLive(createChainlink, {
  listenMs: 120_000,
  history: { topic: 'oracle_rounds', symbol: 'BTC', atLeast: 60 },
  channels: [{ topic: 'oracle_rounds', symbol: 'BTC' }],
})
