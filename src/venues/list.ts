/** Every venue, one line each. Recording starts in this order. */

import { binanceFuturesPlan } from './binance-futures/plan.ts'
import { createBinanceFutures } from './binance-futures/venue.ts'
import { binanceSpotPlan } from './binance-spot/plan.ts'
import { createBinanceSpot } from './binance-spot/venue.ts'
import { chainlinkPlan } from './chainlink/plan.ts'
import { createChainlink } from './chainlink/venue.ts'
import { hyperliquidPlan } from './hyperliquid/plan.ts'
import { createHyperliquid } from './hyperliquid/venue.ts'
import { kalshiPlan } from './kalshi/plan.ts'
import { createKalshi } from './kalshi/venue.ts'
import type { RecordingPlan } from './plan.ts'
import { polymarketPlan } from './polymarket/plan.ts'
import { createPolymarket } from './polymarket/venue.ts'
import type { Venue, VenueDependencies } from './venue.ts'

export interface VenueEntry {
  readonly create: (dependencies: VenueDependencies) => Venue
  readonly plan: RecordingPlan
  /** The sandbox part that simulates the venue; null for a venue that is recorded in the live environment only. */
  readonly sandbox: SandboxRole | null
}

export type ExchangeRole = 'spot' | 'futures' | 'perp'
type SandboxRole = ExchangeRole | 'polymarket' | 'kalshi' | 'ethereum'

export const VENUES = {
  'binance-spot': { create: createBinanceSpot, plan: binanceSpotPlan, sandbox: 'spot' },
  'binance-futures': { create: createBinanceFutures, plan: binanceFuturesPlan, sandbox: 'futures' },
  hyperliquid: { create: createHyperliquid, plan: hyperliquidPlan, sandbox: 'perp' },
  polymarket: { create: createPolymarket, plan: polymarketPlan, sandbox: 'polymarket' },
  kalshi: { create: createKalshi, plan: kalshiPlan, sandbox: 'kalshi' },
  chainlink: { create: createChainlink, plan: chainlinkPlan, sandbox: 'ethereum' },
} as const satisfies Record<string, VenueEntry>

export type VenueName = keyof typeof VENUES

export const VENUE_NAMES = Object.keys(VENUES) as VenueName[]
