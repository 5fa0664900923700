import type { Source } from '../../../core/source.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { view } from '../api.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { PREDICTION_SOURCES } from './paths.ts'
import type { Place } from './place.ts'

/** A prediction market, as `GET /v1/markets` and `GET /v1/markets/{identifier}` give it. */
export interface MarketRecord {
  market_id: string
  source: Source
  symbol: AssetSymbol
  question: string | null
  slug: string | null
  ticker: string | null
  market_type: string | null
  start_time: string | null
  end_time: string | null
  volume: number | null
  tokens: { token_id: string; outcome: string }[]
}

export interface OpenedMarket {
  /** As the address names it. */
  identifier: string
  /** Undefined while it loads, and when it is unknown. */
  market: MarketRecord | undefined
  problem: string | undefined
}

const EVERY_MS = 60_000

/** The market that the address names, requested by that name: it need not be in any list. */
export function useOpenedMarket({ market: identifier, source }: Place): OpenedMarket | undefined {
  const { environment } = useSession()
  const among = source !== undefined && PREDICTION_SOURCES.includes(source) ? `?source=${source}` : ''
  const path = `/v1/markets/${encodeURIComponent(identifier ?? '')}${among}`
  const { value, error } = useLoad(
    async () =>
      identifier === undefined
        ? undefined
        : { path, environment, ...(await view<MarketRecord>(environment, path)) },
    [environment, path],
    identifier === undefined ? 0 : EVERY_MS,
  )
  if (identifier === undefined) return undefined
  // The market before is not shown under the name of this one.
  const isThis = value?.path === path && value.environment === environment
  return { identifier, market: isThis ? value.value : undefined, problem: error }
}
