/** A venue and its recorder from settings that can be sent to a thread. */
import { MARKET_PLANS } from '../ingest/market-plans.ts'
import { EXCHANGE_PLANS } from '../ingest/plans.ts'
import { recordExchange } from '../ingest/record-exchange.ts'
import { recordOracle } from '../ingest/record-oracle.ts'
import { recordPredictions } from '../ingest/record-predictions.ts'
import type { Recorder } from '../ingest/recorder.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { EnvironmentStore } from '../store/environment.ts'
import { CHAINS, DEFAULT_CHAIN } from '../venues/chainlink/describe.ts'
import type { ChainlinkOptions } from '../venues/chainlink/venue.ts'
import type { KalshiCredentials } from '../venues/kalshi/sign.ts'
import { VENUES, type VenueName } from '../venues/list.ts'
import type { PolymarketHosts } from '../venues/polymarket/describe.ts'
import type { Venue } from '../venues/venue.ts'

export interface VenueSetting {
  readonly name: VenueName
  /** Left out for the real hosts. */
  readonly hosts?: Partial<PolymarketHosts>
  readonly kalshi?: Partial<KalshiCredentials>
  readonly chainlink?: ChainlinkOptions
}

export function openVenue({ name, ...settings }: VenueSetting, clock: Clock): Venue {
  return VENUES[name]({ clock, ...settings })
}

export function recorderOf(
  name: VenueName,
  parts: { venue: Venue; store: EnvironmentStore; clock: Clock; log: Logger },
): Recorder {
  if (name === 'polymarket' || name === 'kalshi')
    return recordPredictions({ ...parts, plan: MARKET_PLANS[name] })
  if (name === 'chainlink') return recordOracle({ ...parts, heartbeatMs: CHAINS[DEFAULT_CHAIN].heartbeatMs })
  const plan = EXCHANGE_PLANS[name]
  if (plan === undefined) throw new Error(`${name} has no plan`)
  return recordExchange({ ...parts, plan })
}
