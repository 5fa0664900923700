/** Every venue: one line each. The order is the order of start. */
import { createBinanceFutures } from './binance-futures/venue.ts'
import { createBinanceSpot } from './binance-spot/venue.ts'
import { createChainlink } from './chainlink/venue.ts'
import { createHyperliquid } from './hyperliquid/venue.ts'
import { createKalshi } from './kalshi/venue.ts'
import { createPolymarket } from './polymarket/venue.ts'
import type { Venue, VenueDependencies } from './venue.ts'

export const VENUES = {
  'binance-spot': createBinanceSpot,
  'binance-futures': createBinanceFutures,
  hyperliquid: createHyperliquid,
  polymarket: createPolymarket,
  kalshi: createKalshi,
  chainlink: createChainlink,
} as const satisfies Record<string, (dependencies: VenueDependencies) => Venue>

export type VenueName = keyof typeof VENUES
